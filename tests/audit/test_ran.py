"""What a record tells of calls and of the programs that they ran."""

from __future__ import annotations

from typing import Any

import pytest

from runbook.audit import ran
from runbook.audit.record import Record

SHOW = {"call": "units", "command": "systemctl show -- a.service", "exit": 0, "error": None, "times": 60, "at_s": 3.1,
        "last_at_s": 60.2, "duration_s": 1.25, "longest_s": 0.5}  # fmt: skip
SMI = SHOW | {
    "call": "gpus",
    "command": "nvidia-smi",
    "exit": None,
    "error": "no answer within 8 s",
    "times": 1,
}
CALL = {
    "call": "units",
    "about": "unit=a.service",
    "times": 60,
    "at_s": 3.1,
    "duration_s": 1.5,
    "error": None,
    "exit": None,
}

ABSENT = {"error": "there is no such program"}


def of(**fields: Any) -> Record:
    return Record({"seq": 1, "hash": ""} | fields, b"")


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        ([SHOW], "ran 1 program on the host (-v lists"),
        ([SHOW, SMI], "ran 2 programs on the host; failed: nvidia-smi (-v"),
        ([SMI | ABSENT, SMI | ABSENT | {"command": "nvidia-smi -q"}], "ran 2 programs on the host; not there: nvidia-smi (-v"),
        ([SHOW | {"command": "sh -c x", "exit": 127}], "ran 1 program on the host; not there: what sh was to run (-v"),
        ([SMI | ABSENT, SHOW | {"exit": 1}], "ran 2 programs on the host; not there: nvidia-smi; failed: systemctl (-v"),
        ([SHOW | {"exit": 1, "command": name} for name in "abcdef"], "; failed: a, b, c, d and 2 more (-v"),
    ],
)  # fmt: skip
def test_one_line_tells_programs_that_failed_from_those_that_the_host_does_not_have(
    programs: list[dict[str, Any]], said: str
) -> None:
    (line,) = ran.summary(of(programs=programs))
    assert said in line


def test_a_record_of_before_there_were_programs_says_nothing_of_them() -> None:
    assert list(ran.summary(of())) == []
    assert list(ran.lines(of())) == []
    assert next(ran.lines(of(calls=[CALL]))) == "calls of the helper:"


def test_each_program_is_told_with_its_end_its_number_and_its_time() -> None:
    told = list(
        ran.lines(
            of(
                calls=[CALL, CALL | {"call": "ping", "about": ""}],
                calls_left_out=1,
                programs=[SHOW, SMI],
                programs_left_out=12,
            )
        )
    )
    assert told == [
        "calls of the helper:",
        "       3.1 s  units unit=a.service  60 times, 1.5 s",
        "       3.1 s  ping  60 times, 1.5 s",
        "  and 1 call more",
        "programs that ran on the host:",
        "       3.1 s  systemctl show -- a.service  exit 0, 60 times, 1.25 s, longest 0.5 s",
        "       3.1 s  nvidia-smi  1.25 s, no answer within 8 s",
        "  and 12 runs more",
    ]
