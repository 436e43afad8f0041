"""`journalctl` for the lab's units."""

from __future__ import annotations

import datetime
import re
import socket
from typing import TYPE_CHECKING

from runbook.lab.systemd.answer import Answer
from runbook.lab.systemd.journal import Journal, Query, parse_when, render

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMES = {"-u": "--unit", "-n": "--lines", "-o": "--output", "-S": "--since", "-U": "--until", "-g": "--grep"}
_VALUED = {"--unit", "--lines", "--output", "--since", "--until", "--grep"}
_IGNORED = {
    "--no-pager",
    "--quiet",
    "-q",
    "--no-hostname",
    "-e",
    "-x",
    "-b",
    "--boot",
    "-a",
    "--all",
    "--utc",
}
_STYLES = {"short", "short-iso", "short-precise", "short-iso-precise", "cat"}


def answer(journal: Journal, argv: Sequence[str]) -> Answer:
    """The records a command line asks for; exit code 1 with a message for what the lab does not know."""
    try:
        options, units = parse(argv)
        query = query_of(options, units)
        style = options.get("--output", "short")
        if style not in _STYLES:
            raise ValueError(f"Unknown output format '{style}'.")
        records = journal.read(query)
    except (ValueError, re.error) as error:
        return Answer(err=f"{error}\n", code=1)
    if not records:
        return Answer("-- No entries --\n", code=1 if query.grep else 0)
    host = socket.gethostname().partition(".")[0]
    return Answer("".join(f"{render(record, style, host)}\n" for record in records))


def parse(argv: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Options by long name, and the units named; ValueError for an unknown option."""
    options: dict[str, str] = {}
    units: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word in _IGNORED:
            continue
        name, glued, value = _split(word)
        if name not in _VALUED:
            raise ValueError(f"journalctl: unrecognized option '{word}'")
        if not glued:
            value = rest.pop(0) if rest else ""
        if name == "--unit":
            units.append(value if "." in value else f"{value}.service")
        else:
            options[name] = value
    return options, tuple(units)


def _split(word: str) -> tuple[str, bool, str]:
    if word.startswith("--"):
        name, glued, value = word.partition("=")
        return name, bool(glued), value
    return _NAMES.get(word[:2], word), len(word) > 2, word[2:]


def query_of(options: dict[str, str], units: tuple[str, ...]) -> Query:
    """The query of parsed options; ValueError for a number or a time that is none."""
    now = datetime.datetime.now().astimezone()
    lines = options.get("--lines", "all")
    return Query(
        units,
        None if lines == "all" else int(lines),
        parse_when(options["--since"], now) if "--since" in options else 0,
        parse_when(options["--until"], now) if "--until" in options else None,
        options.get("--grep"),
    )
