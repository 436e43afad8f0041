"""Programs that ran on the host, as the record counts them."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest

from runbook import programs
from runbook.programs import Program, Programs

SHOW = Program("systemctl show -- a.service", 0, 0.02)


def answer(**row: Any) -> dict[str, Any]:
    return {"ok": {}, "ran": [{"argv": ["true"], "exit": 0, "took_s": 0.5, "error": None} | row]}


def test_an_answer_tells_its_programs_as_a_shell_would_read_them() -> None:
    found = programs.of_answer(answer(argv=["sh", "-c", "exit 3"], exit=3))
    assert found == (Program("sh -c 'exit 3'", 3, 0.5),)


@pytest.mark.parametrize(
    "told", [{}, {"ran": None}, {"ran": {}}, {"ran": [None, 3, "x", {}, {"argv": "true"}]}], ids=str
)
def test_what_is_no_program_is_passed_over(told: dict[str, Any]) -> None:
    assert programs.of_answer({"ok": {}, **told}) == ()


@pytest.mark.parametrize("exit_code", [None, True, "0", 1.5, []])
def test_an_exit_that_is_no_number_is_none(exit_code: Any) -> None:
    assert programs.of_answer(answer(exit=exit_code))[0].exit is None


@pytest.mark.parametrize("took", ["1", None, -1.0, math.nan, math.inf, sys.float_info.max, [1]])
def test_a_time_that_is_none_counts_as_no_time(took: Any) -> None:
    assert programs.of_answer(answer(took_s=took))[0].took_s == 0.0


def test_what_a_host_sends_is_bounded() -> None:
    row = {"argv": ["x" * 9_000_000] * 3, "exit": 0, "took_s": 0.1, "error": "e" * 9_000}
    found = programs.of_answer({"ran": [row] * 1000})
    assert (len(found), found[-1].command) == (101, "(900 more programs)")
    assert (len(found[0].command), len(found[0].error or "")) == (4000, 200)


def test_a_program_that_runs_again_is_counted_with_its_time() -> None:
    found = Programs()
    for poll in range(60):
        found.add("units", [SHOW._replace(took_s=0.5 if poll == 7 else 0.01)], float(poll))
    assert found.rows == [
        {"call": "units", "command": SHOW.command, "exit": 0, "error": None, "times": 60, "at_s": 0.0, "last_at_s": 59.0,
         "duration_s": 1.09, "longest_s": 0.5}
    ]  # fmt: skip


def test_another_call_exit_or_command_has_a_row_of_its_own() -> None:
    found = Programs()
    found.add(
        "observe", [SHOW, SHOW._replace(exit=1), SHOW._replace(exit=None, error="no answer within 30 s")], 1.0
    )
    found.add("units", [SHOW, SHOW._replace(command="systemctl show -- b.service")], 2.0)
    assert [(row["call"], row["exit"], row["times"]) for row in found.rows] == [
        ("observe", 0, 1), ("observe", 1, 1), ("observe", None, 1), ("units", 0, 1), ("units", 0, 1),
    ]  # fmt: skip


def test_the_rows_are_bounded_and_the_runs_without_one_are_counted() -> None:
    found = Programs()
    for number in range(programs.LIMIT + 5):
        found.add("units", [SHOW._replace(command=f"true {number}")], 1.0)
    found.add("units", [SHOW._replace(command="true 0")], 2.0)
    assert (len(found.rows), found.left_out) == (programs.LIMIT, 5)
    assert found.rows[0]["times"] == 2
