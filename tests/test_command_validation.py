from __future__ import annotations

import pytest

from runbook.model import Command
from runbook.ssh import InProcessWire
from runbook.validations import LINE_CHARACTERS, Jobs
from runbook.validations.command import EVIDENCE_CHARACTERS, measure, parse
from tests.building import host

GOOD = ('wall=152.8s counts={"maxrounds": 80}', "CORRUPTION sessions: 0/80 = 0%")


@pytest.mark.parametrize(
    ("lines", "status", "outcome"),
    [
        (GOOD, 0, "pass"),
        (("starting", *GOOD, "bye"), 0, "pass"),
        (GOOD, 1, "inconclusive"),
        (('wall=10s counts={"maxrounds": 51, "corrupt": 9}', "CORRUPTION sessions: 9/60 = 15%"), 1, "fail"),
        (('wall=10s counts={"maxrounds": 51, "corrupt": 9}', "CORRUPTION sessions: 9/60 = 15%"), 0, "fail"),
        (('wall=260s counts={"timeout": 80}', "CORRUPTION sessions: 0/80 = 0%"), 0, "inconclusive"),
        (('wall=10s counts={"maxrounds": 79}', "CORRUPTION sessions: 0/80 = 0%"), 0, "inconclusive"),
        (("wall=10s counts={}", "CORRUPTION sessions: 0/0 = 0%"), 0, "inconclusive"),
        (('wall=10s counts={"maxrounds": "80"}', "CORRUPTION sessions: 0/80 = 0%"), 0, "inconclusive"),
        (('wall=10s counts={"maxrounds": 80', "CORRUPTION sessions: 0/80 = 0%"), 0, "inconclusive"),
        (('wall=10s counts=["maxrounds"]', "CORRUPTION sessions: 0/80 = 0%"), 0, "inconclusive"),
        (("CORRUPTION sessions: 0/80 = 0%",), 0, "inconclusive"),
        (
            ('wall=10s counts={"maxrounds": 81, "error": -1}', "CORRUPTION sessions: 0/80 = 0%"),
            0,
            "inconclusive",
        ),
        (('wall=10s counts={"maxrounds": 80.0}', "CORRUPTION sessions: 0/80 = 0%"), 0, "inconclusive"),
        (
            ('wall=10s counts={"maxrounds": 79, "done": true}', "CORRUPTION sessions: 0/80 = 0%"),
            0,
            "inconclusive",
        ),
        (('wall=10s counts={"maxrounds": 80}', "CORRUPTION sessions: 0/80 = 15%"), 0, "inconclusive"),
        (
            ('wall=10s counts={"maxrounds": 68, "bad": 12}', "CORRUPTION sessions: 12/80 = 0%"),
            0,
            "inconclusive",
        ),
        (('wall=10s counts={"maxrounds": 78, "bad": 2}', "CORRUPTION sessions: 2/80 = 2%"), 0, "fail"),
        ((GOOD[0], f"CORRUPTION sessions: 0/{'8' * 5000} = 0%"), 0, "inconclusive"),
        ((f'wall=1s counts={{"a": {"9" * 5000}}}', GOOD[1]), 0, "inconclusive"),
        (("wall=1s counts=" + '{"a": ' * 100_000 + "}", GOOD[1]), 0, "inconclusive"),
        (("everything is fine",), 0, "inconclusive"),
        (
            (
                '{"event": "result", "result": {"kind": "sessions", "outcome": "pass", "corrupt": 0, "sessions": 80}}',
            ),
            0,
            "inconclusive",
        ),
        ((), 0, "inconclusive"),
    ],
)
def test_only_two_lines_that_agree_with_each_other_are_an_answer(
    lines: tuple[str, ...], status: int, outcome: str
) -> None:
    assert parse("mine", lines, status, 1.0)["outcome"] == outcome


def test_a_pass_states_its_bound() -> None:
    assert parse("mine", GOOD, 0, 1.0)["upper_95"] == pytest.approx(0.0368, abs=1e-4)


@pytest.mark.real
def test_a_script_that_prints_a_megabyte_on_a_line_fills_no_memory_record_or_screen() -> None:
    said: list[str] = []
    spec = Command("mine", "yes 'wall=1s counts={' | head -c 3000000 | tr -d '\\n'; echo; echo done", 60.0)
    with InProcessWire("running") as wire:
        result = measure(Jobs(wire, host(), lambda: None), spec, lambda line, fields: said.append(line))
    assert result["outcome"] == "inconclusive"
    assert said[-1] == "done"
    assert max(map(len, said)) == LINE_CHARACTERS
    assert max(map(len, result["lines"])) == EVIDENCE_CHARACTERS
