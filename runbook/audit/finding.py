"""Which records are meant: by the beginning of an id, by host, and the youngest where nothing is said."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from runbook.audit import owed
from runbook.audit.record import Record, records
from runbook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

_NAMED = 8  # candidates in one message
_LONG_AGO = datetime.datetime.min.replace(tzinfo=datetime.UTC)


def in_mirrors(directory: Path, hosts: Sequence[str] = ()) -> tuple[Record, ...]:
    """Every record of the mirrors in a directory (of these hosts alone where any are named), oldest first.

    Those of one host stay in the order of its chain. Two host files of one service share a chain: each record counts once.
    """
    return _in_order(records(path) for path in _mirrors(directory, hosts))


def known(directory: Path, hosts: Sequence[str] = ()) -> tuple[Record, ...]:
    """The same, and among them what is known of rollouts whose record is not on their host."""
    chains = [records(path) for path in _mirrors(directory, hosts)]
    ids = {record.id for chain in chains for record in chain}
    return _in_order((*chains, *((one,) for one in owed.records(directory, hosts) if one.id not in ids)))


def _in_order(chains: Iterable[Sequence[Record]]) -> tuple[Record, ...]:
    timed = (pair for chain in chains for pair in _timed(chain))
    ordered = (record for _, record in sorted(timed, key=lambda pair: pair[0]))
    return tuple({record.line: record for record in ordered}.values())


def mirror_of(directory: Path, record: Record) -> Path:
    """The mirror a record stands in; KeyError where it stands in none."""
    for path in _mirrors(directory, ()):
        if record.line in path.read_bytes().split(b"\n"):
            return path
    raise KeyError(record.id)


def _mirrors(directory: Path, hosts: Sequence[str]) -> list[Path]:
    return [directory / f"{host}.jsonl" for host in hosts] or sorted(directory.glob("*.jsonl"))


def _timed(chain: Sequence[Record]) -> Iterator[tuple[datetime.datetime, Record]]:
    """Records with a time that never falls: a crash is recorded late, and a clock may have been set back."""
    latest = _LONG_AGO
    for record in chain:
        latest = max(latest, record.started or _LONG_AGO)
        yield latest, record


def find(directory: Path, prefix: str = "", hosts: Sequence[str] = ()) -> Record:
    """The record whose id begins with `prefix`, the youngest where there is none; UsageError names the candidates."""
    found = known(directory, hosts)
    if not found:
        raise UsageError(f"no audit record{_of(hosts)} here; audit.verify --host NAME copies a host's")
    if not prefix:
        return found[-1]
    return _only([record for record in found if record.id.startswith(prefix)], prefix, hosts)


def _only(found: Sequence[Record], prefix: str, hosts: Sequence[str]) -> Record:
    exact = [record for record in found if record.id == prefix]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if not found:
        raise UsageError(f"no audit record{_of(hosts)} begins with {prefix!r}; audit.list names them")
    meant = exact or found
    candidates = "".join(f"\n  {record.id}  {record.host} {record.action}" for record in meant[-_NAMED:])
    which = f", the last {_NAMED} of them" if len(meant) > _NAMED else ""
    raise UsageError(f"{prefix!r} is the beginning of {len(meant)} records{which}:{candidates}")


def _of(hosts: Sequence[str]) -> str:
    return f" of {', '.join(hosts)}" if hosts else ""
