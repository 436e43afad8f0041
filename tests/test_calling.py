from __future__ import annotations

import pytest

from runbook.calling import TellingWire, about_of
from runbook.errors import LockedError
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


def test_contents_are_never_told() -> None:
    assert (
        about_of({"unit": "a.service", "b64": "c2VjcmV0", "env": {"TOKEN": "x"}, "argv": ["--api-key", "x"]})
        == "unit=a.service"
    )
