from __future__ import annotations

import pytest

from runbook.validations.command import parse

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
        ((), 0, "inconclusive"),
    ],
)
def test_only_two_lines_that_agree_with_each_other_are_an_answer(
    lines: tuple[str, ...], status: int, outcome: str
) -> None:
    assert parse("mine", lines, status, 1.0)["outcome"] == outcome


def test_a_pass_states_its_bound() -> None:
    assert parse("mine", GOOD, 0, 1.0)["upper_95"] == pytest.approx(0.0368, abs=1e-4)
