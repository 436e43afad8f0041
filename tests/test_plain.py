from __future__ import annotations

import datetime
import io

import pytest

from runbook.events import Progress, StepStarted
from runbook.plain import Plain
from tests.showing_events import EVENTS, POWERS, stream_of, written

MOMENT = datetime.datetime(2026, 11, 30, 7, 41, 37, tzinfo=datetime.UTC)


def told(*, verbose: bool = False, encoding: str = "utf-8") -> str:
    stream = stream_of(encoding)
    plain = Plain(stream, verbose=verbose, now=lambda: MOMENT)
    for event in EVENTS:
        plain(event)
    return written(stream)


@pytest.mark.parametrize("verbose", [False, True])
def test_every_line_has_its_time_and_none_has_powers(verbose: bool) -> None:
    text = told(verbose=verbose)
    assert all(line.startswith("07:41:37 ") for line in text.splitlines())
    assert POWERS.search(text) is None


def test_an_ascii_stream_gets_every_line_with_other_signs_spelled_out() -> None:
    text = told(verbose=True, encoding="ascii")
    assert len(text.splitlines()) == len(told(verbose=True).splitlines())
    assert "health decode ..." in text


def test_what_begins_passes_and_is_called_is_said_with_verbose_only() -> None:
    quiet, loud = told(), told(verbose=True)
    for words in ("health decode …", "ok health: passed quietly", "> journal unit=decode.service  21 ms"):
        assert words not in quiet
        assert words in loud


def test_progress_is_told_as_it_changes() -> None:
    stream = io.StringIO()
    plain = Plain(stream, now=lambda: MOMENT)
    plain(StepStarted("ready"))
    for text in ("try 1 of 30", "try 1 of 30", "try 2 of 30"):
        plain(Progress("ready", text))
    assert stream.getvalue().splitlines() == ["07:41:37 ready: try 1 of 30", "07:41:37 ready: try 2 of 30"]
