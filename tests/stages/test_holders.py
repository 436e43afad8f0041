from __future__ import annotations

from typing import Any

import pytest

from runbook.stages import holders
from tests.building import UNITS
from tests.fakehost import FakeHost
from tests.test_rollout import deploy, work_on

DECODE = UNITS[1]
GPU = {"index": 0, "name": "H200", "driver": "570", "memory_used_mib": 139_000, "memory_total_mib": 143_771}


def holder(
    pid: int, unit: str | None, *, parent: int = 1, after_boot_s: float = 100.0, **more: Any
) -> dict[str, Any]:
    return {
        "pid": pid, "unit": unit, "parent": parent, "after_boot_s": after_boot_s,
        "cmdline": "sglang::scheduler_TP0", "memory_used_mib": 70_000, **more,
    }  # fmt: skip


def told(fake: FakeHost, *, journal: str = "", at: float = 200.0) -> list[str]:
    return holders.of_failed(work_on(fake), holders.Start(DECODE, at, journal))


def test_nobody_in_the_way_says_nothing() -> None:
    assert told(FakeHost()) == []


def test_an_orphan_on_the_port_is_named_with_its_command() -> None:
    assert told(FakeHost(listeners={30002: [holder(7, None)]})) == [
        "port 30002 is held by pid 7 of no unit, an orphan (its parent is PID 1): sglang::scheduler_TP0"
    ]


@pytest.mark.parametrize(
    ("after_boot_s", "held"),
    [(250.0, False), (100.0, True), (0.0, False)],
    ids=["this start's own", "an earlier start's", "unknown"],
)
def test_only_what_an_earlier_start_left_in_the_units_own_group_is_in_the_way(
    after_boot_s: float, held: bool
) -> None:
    fake = FakeHost(listeners={30002: [holder(7, DECODE.name, after_boot_s=after_boot_s)]})
    assert bool(told(fake)) == held


@pytest.mark.parametrize(
    ("unit", "after_boot_s", "taken"),
    [
        (DECODE.name, 100.0, True),
        (DECODE.name, 199.5, True),
        (DECODE.name, 199.99, False),
        (DECODE.name, 250.0, False),
        ("docker.service", 100.0, False),
        (None, 100.0, False),
    ],
    ids=[
        "an earlier start's",
        "one's just before",
        "this start's own in its tick",
        "this start's own",
        "another unit's, which may forward",
        "nobody's",
    ],
)
def test_a_unit_is_taken_for_what_an_earlier_start_of_it_left_on_its_port(
    unit: str | None, after_boot_s: float, taken: bool
) -> None:
    fake = FakeHost(listeners={30002: [holder(7, unit, after_boot_s=after_boot_s)]})
    assert holders.is_taken_for(work_on(fake), holders.Start(DECODE, 200.0)) == taken


def test_a_deploy_does_not_take_the_answer_of_an_orphan_for_that_of_the_unit_it_restarted() -> None:
    """While the new process still loads its model the old one answers, and would be validated with its old flags."""
    fake = FakeHost(listeners={30002: [holder(7, DECODE.name)]})
    story = deploy(fake)
    assert story.exit_code == 4, "the rollback is answered by it, too"
    (found,) = (finding.message for finding in story.findings if finding.outcome.value == "fail")
    assert found == (
        "decode.service: decode.service runs, but what answers in its place is left from an earlier start; port 30002 is "
        "held by pid 7 of decode.service, an orphan (its parent is PID 1): sglang::scheduler_TP0"
    )


def full(*processes: dict[str, Any]) -> FakeHost:
    return FakeHost(gpus={"gpus": [GPU], "processes": list(processes), "detail": ""})


def test_a_full_gpu_names_everybody_else_on_it_when_the_journal_speaks_of_memory() -> None:
    fake = full(holder(7, "other.service", parent=3), holder(8, DECODE.name, after_boot_s=300.0))
    assert told(fake, journal="torch.OutOfMemoryError: CUDA out of memory. Tried …") == [
        "GPU memory in use: 0: 139000 of 143771 MiB",
        "70000 MiB of GPU memory are held by pid 7 of other.service: sglang::scheduler_TP0",
    ]


def test_without_a_word_of_memory_only_orphans_on_the_gpu_are_named() -> None:
    fake = full(holder(7, "other.service", parent=3), holder(8, None, parent=3), holder(9, None))
    assert [line for line in told(fake, journal="no such file") if "held by" in line] == [
        "70000 MiB of GPU memory are held by pid 9 of no unit, an orphan (its parent is PID 1): sglang::scheduler_TP0"
    ]


def test_a_command_line_is_data_and_a_crowd_is_cut() -> None:
    crowd = [holder(pid, None, cmdline="x\x1b[2J\n" * 500) for pid in range(40)]
    lines = told(full(*crowd))
    assert lines[-1] == "and 33 more"
    assert all("\x1b" not in line and "\n" not in line and len(line) < 300 for line in lines)
