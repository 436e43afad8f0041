"""`journalctl` for the lab's units."""

from __future__ import annotations

import datetime
import getopt
import os
import re
from typing import TYPE_CHECKING

from runbook.lab.systemd.answer import Answer
from runbook.lab.systemd.journal import Journal, Query, parse_when, render

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHORT = "u:n:o:S:U:g:t:qexab"
_LONG = [
    "unit=",
    "lines=",
    "output=",
    "since=",
    "until=",
    "grep=",
    "identifier=",
    "no-pager",
    "quiet",
    "no-hostname",
    "boot",
    "all",
    "utc",
]
_NAMES = {
    "-u": "unit",
    "-n": "lines",
    "-o": "output",
    "-S": "since",
    "-U": "until",
    "-g": "grep",
    "-t": "identifier",
}
_STYLES = {"short", "short-iso", "short-precise", "short-iso-precise", "cat"}


def answer(journal: Journal, argv: Sequence[str]) -> Answer:
    """The records a command line asks for; exit code 1 with a message for what the lab does not know."""
    try:
        options, units = parse(argv)
        query = query_of(options, units)
        style = options.get("output", "short")
        if style not in _STYLES:
            raise ValueError(f"Unknown output format '{style}'.")
        records = journal.read(query)
    except (ValueError, re.error) as error:
        return Answer(err=f"{error}\n", code=1)
    if not records:
        return Answer("-- No entries --\n", code=1 if query.grep else 0)
    return Answer("".join(f"{render(record, style)}\n" for record in records))


def parse(argv: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Options by long name, and the units named; ValueError for what the lab does not know."""
    try:
        pairs, words = getopt.gnu_getopt(list(argv), _SHORT, _LONG)
    except getopt.GetoptError as error:
        raise ValueError(f"journalctl: {error.msg}") from error
    # All of the lab runs as one user, so a match for that user is no restriction.
    if strange := [word for word in words if word != f"_UID={os.getuid()}"]:
        raise ValueError(f"Failed to add match '{strange[0]}': Invalid argument")
    options = [(_NAMES.get(name, name.lstrip("-")), value) for name, value in pairs]
    units = (value if "." in value else f"{value}.service" for name, value in options if name == "unit")
    return dict(options), tuple(units)


def query_of(options: dict[str, str], units: tuple[str, ...]) -> Query:
    """The query of parsed options; ValueError for a number or a time that is none."""
    now = datetime.datetime.now().astimezone()
    lines = options.get("lines", "all")
    return Query(
        units,
        None if lines == "all" else int(lines),
        parse_when(options["since"], now) if "since" in options else 0,
        parse_when(options["until"], now) if "until" in options else None,
        options.get("grep"),
        options.get("identifier"),
    )
