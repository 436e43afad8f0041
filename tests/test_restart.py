from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runbook import rollout
from runbook.errors import UsageError
from runbook.model import Unit
from runbook.options import Options
from runbook.stages import choosing
from tests.building import host
from tests.test_rollout import a_host, work_on

if TYPE_CHECKING:
    from runbook.story import Story
    from tests.fakehost import FakeHost, RunningUnit


def restart(fake: FakeHost, *units: str, **fields: Any) -> Story:
    fake.lock = None
    return rollout.restart(work_on(fake, **fields), Options(units=units))


def pids(fake: FakeHost) -> dict[str, int]:
    return {name: unit.pid for name, unit in fake.units.items()}


@pytest.mark.parametrize(
    ("asked", "restarted"),
    [
        (["decode"], {"decode.service"}),
        (["router.service"], {"router.service"}),
        (["prefill"], {"prefill.service", "decode.service"}),
        (["router", "decode"], {"decode.service", "router.service"}),
    ],
)
def test_only_what_was_asked_for_restarts_and_a_prefill_takes_decode_along(
    asked: list[str], restarted: set[str]
) -> None:
    fake = a_host()
    before, files = pids(fake), dict(fake.files)
    story = restart(fake, *asked)
    assert {name for name, pid in pids(fake).items() if pid != before[name]} == restarted
    assert fake.files == files
    assert fake.audit[-1]["action"] == "restart"
    assert fake.inflight is None
    assert story.error is None


def test_what_runs_after_a_restart_is_compared_with_what_the_files_say() -> None:
    story = restart(a_host(), "decode")
    assert [finding.outcome.value for finding in story.findings if finding.check == "environment"] == [
        "pass",
        "pass",
    ]
    assert story.exit_code == 0


def test_a_unit_that_does_not_come_back_is_a_failure_with_its_journal_and_nothing_stays_open() -> None:
    def die(unit: RunningUnit) -> None:
        unit.active = "failed"

    fake = a_host(behave=die)
    story = restart(fake, "decode")
    assert story.exit_code == 1
    assert "exited" in str(story.findings[-1].evidence["journal"])
    assert fake.inflight is None


def test_an_operator_who_says_no_restarts_nothing() -> None:
    fake = a_host()
    before = pids(fake)
    assert restart(fake, "decode", confirm=False).exit_code == 130
    assert pids(fake) == before


def test_a_dry_run_shows_the_plan_and_restarts_nothing() -> None:
    fake = a_host()
    before = pids(fake)
    story = rollout.restart(work_on(fake), Options(units=("prefill",), dry_run=True))
    assert story.plan is not None
    assert [one.why for one in story.plan.restarts] == [
        "asked for on the command line",
        "pair: prefill restarts",
    ]
    assert (pids(fake), fake.audit) == (before, [])


def test_what_an_interrupted_rollout_left_is_settled_first() -> None:
    fake = a_host(inflight={"rollout": "x", "who": "bob", "parent": "r1"})
    story = restart(fake, "decode")
    assert story.exit_code == 2
    assert "unit_restart" not in fake.calls


def test_a_role_that_is_also_another_units_name_is_refused_and_a_whole_name_is_not() -> None:
    decode, router = (
        Unit(role, name, None, None)
        for role, name in (("decode", "main.service"), ("router", "decode.service"))
    )
    both = host(units=(decode, router))
    with pytest.raises(UsageError, match="'decode' may be any of decode, router"):
        choosing.units(both, ["decode"])
    assert choosing.units(both, ["decode.service"]) == (router,)
    assert choosing.units(both, []) == (decode, router)
