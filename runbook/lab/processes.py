"""Processes by pid AND start time, so that a pid used again is never taken for the process it once was."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_PROC = Path("/proc")


class Identity(NamedTuple):
    """A process. `started` tells it from a later one of the same pid, also across a reboot."""

    pid: int
    started: str


class Row(NamedTuple):
    """One line of the process table."""

    pid: int
    parent: int
    session: int
    started: str


def identify(pid: int) -> Identity | None:
    """The process that now has this pid; None where there is none, or only its zombie."""
    row = _proc_row(pid, _boot_id()) if _has_proc() else _ps_table(pid).get(pid)
    return Identity(pid, row.started) if row else None


def identify_all(pids: Iterable[int]) -> tuple[Identity, ...]:
    """The processes that now have these pids."""
    return tuple(found for pid in pids if (found := identify(pid)))


def alive(process: Identity) -> bool:
    """Whether this very process still runs."""
    return identify(process.pid) == process


def table() -> dict[int, Row]:
    """Every living process; without /proc as `ps` tells it."""
    if not _has_proc():
        return _ps_table()
    boot = _boot_id()
    rows = (_proc_row(int(entry.name), boot) for entry in _PROC.iterdir() if entry.name.isdigit())
    return {row.pid: row for row in rows if row}


def family(roots: Iterable[Identity], rows: dict[int, Row]) -> tuple[Identity, ...]:
    """The roots that live, what descends from them, and what runs in a session one of them opened.

    A session's id is given to no other process while the session has members: so processes of a dead root, long
    adopted by init, are still known by it. Not those of another boot, nor any older than the root.
    """
    found = {pid for root in roots for pid in _own(root, rows)}
    pending = list(found)
    while pending:
        parent = pending.pop()
        below = {row.pid for row in rows.values() if row.parent == parent} - found
        found |= below
        pending.extend(below)
    return tuple(Identity(pid, rows[pid].started) for pid in sorted(found))


def carrying(name: str, value: str, rows: dict[int, Row]) -> tuple[int, ...]:
    """The processes that were started with this variable, as far as /proc shows it (setproctitle wipes it)."""
    mark = f"{name}={value}".encode()
    return tuple(pid for pid in rows if mark in _environ(pid).split(b"\0"))


def _environ(pid: int) -> bytes:
    try:
        return (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""


def _own(root: Identity, rows: dict[int, Row]) -> set[int]:
    there = rows.get(root.pid)
    if there and there.started != root.started:
        return set()
    members = {row.pid for row in rows.values() if row.session == root.pid and _not_before(root, row)}
    return members | ({root.pid} if there else set())


def _not_before(root: Identity, row: Row) -> bool:
    """Of `ps` dates nothing is concluded but equality: there only a root that lives has a session."""
    boot, _, ticks = root.started.rpartition(":")
    there, _, later = row.started.rpartition(":")
    if not _has_proc():
        return alive(root)
    return boot == there and int(later) >= int(ticks)


def end(processes: Iterable[Identity], *, grace_s: float) -> tuple[Identity, ...]:
    """SIGTERM, and SIGKILL for those still there after `grace_s`; returns those that outlived both."""
    left = _signal(processes, signal.SIGTERM)
    left = _await_end(left, grace_s)
    return _await_end(_signal(left, signal.SIGKILL), 2.0)


def _signal(processes: Iterable[Identity], number: int) -> tuple[Identity, ...]:
    living = tuple(process for process in processes if alive(process))
    for process in living:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, number)
    return living


def _await_end(processes: tuple[Identity, ...], seconds: float) -> tuple[Identity, ...]:
    until = time.monotonic() + seconds
    while (left := tuple(filter(alive, processes))) and time.monotonic() < until:
        time.sleep(0.02)
    return left


def _has_proc() -> bool:
    return (_PROC / "self" / "stat").exists()


def _boot_id() -> str:
    with contextlib.suppress(OSError):
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    return ""


def _proc_row(pid: int, boot: str) -> Row | None:
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    return Row(pid, int(fields[1]), int(fields[3]), f"{boot}:{int(fields[19])}")


def _ps_table(pid: int | None = None) -> dict[int, Row]:
    which = ["-p", str(pid)] if pid else ["-A"]
    shown = subprocess.run(
        ["ps", *which, "-o", "pid=,ppid=,pgid=,stat=,lstart="],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C", "TZ": "UTC"},
    )
    return parse_ps(shown.stdout)


def parse_ps(text: str) -> dict[int, Row]:
    """Lines of pid, ppid, pgid, stat and lstart, zombies left out; the process group stands in for the session."""
    fields = (line.split(None, 4) for line in text.splitlines())
    return {
        int(row[0]): Row(int(row[0]), int(row[1]), int(row[2]), row[4].strip())
        for row in fields
        if len(row) == 5 and not row[3].startswith("Z")
    }
