"""The Markdown summary: what a reviewer needs in a pull request or a chat, on one screen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from runbook.report import sections, tables
from runbook.report.reading import ended, rows, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_T = TypeVar("_T")
MOST_LINES = 8
LONGEST_LINE = 240
# What Markdown obeys. An underscore within a word is only an underscore, there and in chats.
_SPECIAL = re.compile(r"([\\`*\[\]<>|~#&$]|(?<!\w)_|_(?!\w))")
_NO_MENTION = "@\u200b"  # a backslash does not keep a forge from notifying whoever has that name


def render(record: Mapping[str, Any]) -> str:
    """At most some forty lines; every text of the record escaped, so that it is neither markup nor a mention."""
    parts = (_head, _changes, _validations, _bench, _bad)
    return "\n".join(line for part in parts for line in part(record)) + "\n"


def escaped(value: str) -> str:
    """A text on one line as Markdown shows it."""
    line = " ".join(value.split())
    short = line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
    return _SPECIAL.sub(r"\\\1", short).replace("@", _NO_MENTION)


def _head(record: Mapping[str, Any]) -> Iterator[str]:
    yield f"**{escaped(sections.heading(record))}: {ended(record).upper()}**"
    yield ""
    wanted = ("rollout", "began", "took", "by", "reason", "release", "on the command line", "error")
    facts = [f"{name} {escaped(value)}" for name, value in sections.summary(record) if name in wanted]
    yield " · ".join(facts)
    yield ""


def _changes(record: Mapping[str, Any]) -> Iterator[str]:
    would = "" if tables.is_done(record) else "would "
    for change in _first(rows(table(record, "plan"), "changes")):
        lines = [line.text for line in sections.diff(change) if line.kind in ("add", "del")]
        said = "; ".join(escaped(line) for line in _first(lines))
        yield f"- {would}change {escaped(text(change.get('path')))}: {said}"
    for row in _first(tables.restarts(record)):
        yield f"- {would}restart {escaped(row.cells[0])}: {escaped(row.cells[1])}"


def _validations(record: Mapping[str, Any]) -> Iterator[str]:
    found = tables.validations(record)
    if found:
        yield from _table(
            ("validation", "sessions", "corrupt", "95 % bound", "ended", "wall", "outcome"), found
        )


def _bench(record: Mapping[str, Any]) -> Iterator[str]:
    found = tables.comparison(record)
    if found:
        yield from _table(
            ("concurrency", "before", "after", "ratio", "95 % bounds", "sees", "verdict"), found
        )


def _table(head: tuple[str, ...], body: list[tables.Row]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in _first(body):
        yield f"| {' | '.join(escaped(cell) for cell in row.cells)} |"
    yield ""


def _bad(record: Mapping[str, Any]) -> Iterator[str]:
    for trouble in _first(sections.troubles(record)):
        yield f"- {trouble.outcome}: {escaped(trouble.check)}: {escaped(trouble.message)}"


def _first(found: list[_T]) -> list[_T]:
    return found[:MOST_LINES]
