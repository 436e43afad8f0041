from __future__ import annotations

import datetime

import pytest

from runbook import since
from runbook.errors import UsageError

NOW = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("10m", 600), ("10 min", 600), ("2H", 7200), ("3d", 259200), ("1w", 604800)],
)
def test_a_span_is_counted_back_from_now(text: str, seconds: int) -> None:
    assert (NOW - since.moment(text, NOW)).total_seconds() == seconds


@pytest.mark.parametrize("text", ["2026-11-30T07:40:00+00:00", "2026-11-30T08:40:00+01:00"])
def test_a_moment_is_itself(text: str) -> None:
    assert since.moment(text, NOW).astimezone(datetime.UTC).hour == 7


@pytest.mark.parametrize("text", ["yesterday", "10", "-5m", "m", "1y", "999999w", "2026-13-01", "\x00"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--since"):
        since.moment(text, NOW)
