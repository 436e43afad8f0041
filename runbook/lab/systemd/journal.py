"""The journal of the lab's units: one bounded, rotated file a unit, asked as `journalctl` asks.

A record is one line, `µs since the epoch TAB identifier[pid] TAB text`.
"""

from __future__ import annotations

import datetime
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.lab.systemd.words import parse_span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LIMIT_BYTES = 4 * 1024 * 1024
_LINE_LIMIT = 48 * 1024  # journald's LineMax


@dataclass(frozen=True, slots=True)
class Record:
    us: int
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """Which records: of `units` (all where empty), the last `lines`, since `since_us`, matching `grep`, by `identifier`."""

    units: tuple[str, ...] = ()
    lines: int | None = None
    since_us: int = 0
    until_us: int | None = None
    grep: str | None = None
    identifier: str | None = None


class Journal:
    """Writes to and reads from `directory`; an older half of a unit's journal is kept as `UNIT.log.1`."""

    def __init__(self, directory: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self._directory = directory
        self._limit = limit_bytes

    def append(self, unit: str, record: Record) -> None:
        """Add a record, rotating when the file is full; OSError when it cannot be written."""
        path = self._path(unit)
        if path.exists() and path.stat().st_size >= self._limit // 2:
            path.replace(path.with_suffix(".log.1"))
        with path.open("a", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(_line_of(record))

    def read(self, query: Query) -> list[Record]:
        """The records asked for, oldest first; re.error for a pattern that is none."""
        pattern = re.compile(query.grep) if query.grep else None
        units = query.units or tuple(path.name.removesuffix(".log") for path in self._directory.glob("*.log"))
        records = [
            record
            for unit in dict.fromkeys(units)
            for record in self._of(unit)
            if _wanted(record, query, pattern)
        ]
        records.sort(key=lambda record: record.us)
        return records if query.lines is None else records[max(0, len(records) - query.lines) :]

    def _path(self, unit: str) -> Path:
        return self._directory / f"{unit}.log"

    def _of(self, unit: str) -> Iterator[Record]:
        if "/" in unit:
            return
        for path in (self._path(unit).with_suffix(".log.1"), self._path(unit)):
            if path.is_file():
                with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
                    yield from _parse(stream)


def _wanted(record: Record, query: Query, pattern: re.Pattern[str] | None) -> bool:
    return (
        record.us >= query.since_us
        and (query.until_us is None or record.us <= query.until_us)
        and (pattern is None or pattern.search(record.text) is not None)
        and query.identifier in (None, record.source.partition("[")[0])
    )


def _line_of(record: Record) -> str:
    text = record.text[:_LINE_LIMIT].replace("\n", " ").replace("\r", " ")
    return f"{record.us}\t{record.source}\t{text}\n"


def _parse(lines: Iterable[str]) -> Iterator[Record]:
    for line in lines:
        us, _, rest = line.rstrip("\n").partition("\t")
        source, _, text = rest.partition("\t")
        if us.isdigit():
            yield Record(int(us), source, text)


def parse_when(text: str, now: datetime.datetime) -> int:
    """µs since the epoch of `@EPOCH`, `YYYY-MM-DD[ HH:MM[:SS]]`, `HH:MM[:SS]`, `now`, `today` or `-5min`.

    Local time, as journalctl has it. ValueError otherwise.
    """
    if text.startswith("@"):
        return round(float(text[1:]) * 1_000_000)
    if text == "now":
        return _us(now)
    if text == "today":
        return _us(now.replace(hour=0, minute=0, second=0, microsecond=0))
    if text.startswith("-"):
        return _us(now) - round(parse_span(text[1:]) * 1_000_000)
    return _us(_clock(text, now))


def _clock(text: str, now: datetime.datetime) -> datetime.datetime:
    if ":" in text and "-" not in text:
        text = f"{now:%Y-%m-%d} {text}"
    return datetime.datetime.fromisoformat(text.removesuffix(" UTC")).replace(
        tzinfo=datetime.UTC if text.endswith(" UTC") else now.tzinfo
    )


def _us(when: datetime.datetime) -> int:
    return round(when.timestamp() * 1_000_000)


def render(record: Record, style: str = "short", hostname: str | None = None) -> str:
    """One record as `journalctl -o STYLE` prints it: short, short-iso, short-precise or cat."""
    host = socket.gethostname().partition(".")[0] if hostname is None else hostname
    when = datetime.datetime.fromtimestamp(record.us / 1_000_000).astimezone()
    stamps = {
        "short": f"{when:%b %d %H:%M:%S}",
        "short-precise": f"{when:%b %d %H:%M:%S.%f}",
        "short-iso": f"{when:%Y-%m-%dT%H:%M:%S%z}",
        "short-iso-precise": f"{when:%Y-%m-%dT%H:%M:%S.%f%z}",
    }
    return record.text if style == "cat" else f"{stamps[style]} {host} {record.source}: {record.text}"
