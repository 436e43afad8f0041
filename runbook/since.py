"""`--since`: a moment as people type it, `10m`, `2h`, `3d`, or a date and time in ISO 8601."""

from __future__ import annotations

import datetime
import re

from runbook.errors import UsageError

_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_SPAN = re.compile(r"(\d{1,6})\s*(s|m|min|h|d|w)")


def moment(text: str, now: datetime.datetime) -> datetime.datetime:
    """The moment meant; a date or time without a zone is the local one. Raises UsageError."""
    if span := _SPAN.fullmatch(text.strip().lower()):
        return _back(now, int(span[1]) * _SECONDS[span[2]], text)
    try:
        return datetime.datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError):
        raise UsageError(
            f"--since wants a span as 30s, 10m, 2h, 3d, 1w or a moment as 2026-11-30T07:40, found {text!r}"
        ) from None


def _back(now: datetime.datetime, seconds: int, text: str) -> datetime.datetime:
    try:
        return now - datetime.timedelta(seconds=seconds)
    except OverflowError:
        raise UsageError(f"--since {text}: there was no such moment") from None
