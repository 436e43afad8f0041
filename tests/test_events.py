from __future__ import annotations

import pytest

from runbook.errors import InterruptedByOperator
from runbook.events import Event, Progress, Run, StepEnded, StepStarted
from runbook.interrupt import Interrupt
from runbook.verdict import Finding, Outcome


def test_a_step_is_told_from_start_to_end() -> None:
    told: list[Event] = []
    ticks = iter([1.0, 1.5, 4.0])
    run = Run([told.append], clock=lambda: next(ticks))
    with run.step("wait", budget_s=10) as step:
        step.progress("try 1", attempt=1)
        step.outcome = Outcome.INCONCLUSIVE
    assert told == [
        StepStarted("wait", 10),
        Progress("wait", "try 1", {"attempt": 1}),
        StepEnded("wait", Outcome.INCONCLUSIVE, 2.5, at_s=0.5),
    ]
    assert run.steps == [told[-1]]


def test_a_step_whose_body_raises_ends_in_error_and_the_error_goes_on() -> None:
    run = Run()
    with pytest.raises(ValueError, match="no"), run.step("write"):
        raise ValueError("no")
    assert [(step.outcome, step.detail) for step in run.steps] == [(Outcome.ERROR, "no")]


def test_findings_are_kept_in_order() -> None:
    run = Run()
    first, second = Finding("a", Outcome.PASS, "1"), Finding("b", Outcome.FAIL, "2")
    run.find(first, second)
    assert run.findings == [first, second]


def test_no_step_begins_after_the_operator_asked_to_stop_but_the_way_out_is_open() -> None:
    interrupt = Interrupt()
    run = Run(checkpoint=interrupt.checkpoint)
    interrupt.request(2, None)
    with pytest.raises(InterruptedByOperator), run.step("restart"):
        raise AssertionError("the step began")
    with run.step("verdict"):
        pass
    assert [step.name for step in run.steps] == ["verdict"]


def test_a_second_request_does_not_wait() -> None:
    interrupt = Interrupt()
    interrupt.request(2, None)
    with pytest.raises(KeyboardInterrupt):
        interrupt.request(2, None)
