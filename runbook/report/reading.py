"""Reading a record that may be anything: an older one, one of another tool, one that somebody touched."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from runbook.text import clean
from runbook.verdict import Outcome, ended_as

LONGEST_TEXT = 20_000
MOST_ROWS = 400
LARGEST_NUMBER = 1e15
OUTCOMES = frozenset(outcome.value for outcome in Outcome)


def text(value: Any) -> str:
    """A value as clean text, bounded; empty for null."""
    if value is None:
        return ""
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return clean(shown[:LONGEST_TEXT])


def table(record: Any, key: str) -> Mapping[str, Any]:
    """The mapping that stands under a key, empty where there is none."""
    found = record.get(key) if isinstance(record, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def items(record: Any, key: str) -> list[Any]:
    """The list that stands under a key, bounded; empty where there is none."""
    found = record.get(key) if isinstance(record, Mapping) else None
    listed = isinstance(found, Sequence) and not isinstance(found, str | bytes)
    return list(found)[:MOST_ROWS] if listed and found is not None else []


def rows(record: Any, key: str) -> list[Mapping[str, Any]]:
    """The mappings of such a list."""
    return [row for row in items(record, key) if isinstance(row, Mapping)]


def number(value: Any) -> float | None:
    """A number of a size that something measured can have, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < LARGEST_NUMBER else None


def numbers(record: Any, key: str) -> list[float]:
    return [found for value in items(record, key) if (found := number(value)) is not None]


def ended(record: Mapping[str, Any]) -> str:
    """A record's outcome in a word, as `status` and `audit.list` say it: `declined` and `refused` are told from errors."""
    return ended_as({**record, "outcome": outcome_of(record.get("outcome"))})


def outcome_of(value: Any) -> str:
    """One of the four outcomes; anything else is an error, since it was written by nobody we know."""
    return value if isinstance(value, str) and value in OUTCOMES else Outcome.ERROR.value
