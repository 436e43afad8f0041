"""The processes of the running activations on disk, for whoever comes after a killed unit manager."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from runbook.lab.processes import Identity, carrying, end, family, table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Entry(NamedTuple):
    """An activation's shim and main process, which lead a session each, and the id every process of it inherits."""

    unit: str
    invocation: str
    processes: tuple[Identity, ...]


def write(path: Path, entries: Iterable[Entry]) -> None:
    """Replace the ledger."""
    rows = [
        [entry.unit, entry.invocation, [[one.pid, one.started] for one in entry.processes]]
        for entry in entries
    ]
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(rows))
    fresh.replace(path)


def read(path: Path) -> tuple[Entry, ...]:
    """The ledger; empty where there is none or it cannot be read."""
    try:
        rows = json.loads(path.read_text())
        return tuple(
            Entry(str(unit), str(invocation), tuple(Identity(int(p), str(s)) for p, s in known))
            for unit, invocation, known in rows
        )
    except (OSError, ValueError, TypeError):
        return ()


def end_entry(entry: Entry) -> tuple[Identity, ...]:
    """End an activation's processes and all that belongs to them; returns what was found alive."""
    rows = table()
    marked = tuple(
        Identity(pid, rows[pid].started) for pid in carrying("INVOCATION_ID", entry.invocation, rows)
    )
    found = family((*entry.processes, *marked), rows)
    end(found, grace_s=1.0)
    return found


def end_orphans(path: Path) -> tuple[Identity, ...]:
    """End what the ledger names, and remove it; returns what was found alive."""
    found = [process for entry in read(path) for process in end_entry(entry)]
    path.unlink(missing_ok=True)
    return tuple(found)
