from __future__ import annotations

import contextlib
from typing import Any

import pytest

from runbook.calling import TellingWire, about_of
from runbook.errors import LinkLostError, LockedError
from runbook.events import Called, Event
from tests.fakehost import FakeHost


def test_each_call_is_told_with_what_it_was_about_and_its_time() -> None:
    told: list[Event] = []
    fake = FakeHost()
    ticks = iter([1.0, 1.5])
    wire = TellingWire(fake, told.append, clock=lambda: next(ticks))  # type: ignore[arg-type]
    wire.call("units", units=["decode.service"])
    (called,) = told
    assert isinstance(called, Called)
    assert (called.call, called.about, called.duration_s, called.error) == (
        "units",
        "units=decode.service",
        0.5,
        None,
    )


def test_an_error_is_told_and_goes_on() -> None:
    told: list[Event] = []
    wire = TellingWire(FakeHost(lock={"who": "bob"}), told.append)  # type: ignore[arg-type]
    with pytest.raises(LockedError):
        wire.call("lock", state="/var", holder={"who": "ann"})
    assert [called.error for called in told if isinstance(called, Called)] == ["held by bob"]


class Rows:
    """A host whose answer to any row of calls is this."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        if isinstance(self.answer, LinkLostError):
            raise self.answer
        return self.answer


def told_of(answer: Any) -> list[Called]:
    told: list[Any] = []
    wire = TellingWire(Rows(answer), told.append, clock=lambda: 1.0)  # type: ignore[arg-type]
    row = [{"call": "units", "args": {"units": ["a.service"]}}, {"call": "set_current", "args": {"id": "1"}}]
    with contextlib.suppress(LinkLostError):
        wire.call("several", calls=row)
    return told


def test_the_calls_of_a_row_are_told_one_by_one_each_with_its_own_time() -> None:
    problem = {"kind": "missing", "message": "no release 1"}
    first, second = told_of([{"ok": {"a": 1}, "took_s": 0.25}, {"error": problem, "took_s": 0.5}])
    assert (first.call, first.about, first.duration_s, first.ago_s) == ("units", "units=a.service", 0.25, 0.5)
    assert (first.error, first.value) == (None, {"a": 1})
    assert (second.call, second.about, second.ago_s, second.error) == (
        "set_current",
        "id=1",
        0,
        "no release 1",
    )


def test_a_row_that_was_lost_is_told_by_the_names_of_its_calls() -> None:
    (lost,) = told_of(LinkLostError("gone"))
    assert (lost.call, lost.about, lost.error) == ("several", "units set_current", "gone")


@pytest.mark.parametrize("answer", [None, "x", [], [1, {}], {"a": 1}])
def test_a_row_of_no_answers_is_told_as_none(answer: Any) -> None:
    assert told_of(answer) == []


@pytest.mark.parametrize("took", ["1", None, -1.0, float("nan"), float("inf"), [1]])
def test_a_time_that_is_none_counts_as_no_time(took: Any) -> None:
    assert [called.duration_s for called in told_of([{"ok": {}, "took_s": took}])] == [0.0]


def test_contents_are_never_told() -> None:
    assert (
        about_of({"unit": "a.service", "b64": "c2VjcmV0", "env": {"TOKEN": "x"}, "argv": ["--api-key", "x"]})
        == "unit=a.service"
    )
