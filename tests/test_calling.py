from __future__ import annotations

import contextlib
from typing import Any

import pytest

from runbook.calling import TellingWire, about_of
from runbook.errors import LinkLostError, LockedError, PreflightError
from runbook.events import Called, Event
from runbook.programs import Program
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

    def __init__(self, row: Any) -> None:
        self.row = row

    def answer(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> dict[str, Any]:
        if isinstance(self.row, LinkLostError):
            raise self.row
        return {"ok": self.row}


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


RAN = [{"argv": ["systemctl", "show"], "exit": 0, "took_s": 0.25, "error": None}]


class Running(Rows):
    """A host that ran a program for any call, and then refused it where it is told to."""

    def answer(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> dict[str, Any]:
        return {"error": self.row, "ran": RAN} if "kind" in self.row else {"ok": self.row, "ran": RAN}


@pytest.mark.parametrize("row", [{"a": 1}, {"kind": "failed", "message": "no"}])
def test_a_call_is_told_with_the_programs_it_ran_whatever_came_of_them(row: dict[str, Any]) -> None:
    told: list[Any] = []
    wire = TellingWire(Running(row), told.append)  # type: ignore[arg-type]
    with contextlib.suppress(PreflightError):
        assert wire.call("units") == row
    (called,) = told
    assert called.programs == (Program("systemctl show", 0, 0.25),)
    assert called.error == row.get("message")


def test_the_calls_of_a_row_are_told_each_with_its_own_programs() -> None:
    first, second = told_of([{"ok": {}, "took_s": 0.5, "ran": RAN}, {"ok": {}, "took_s": 0.5}])
    assert (first.programs, second.programs) == ((Program("systemctl show", 0, 0.25),), ())


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
