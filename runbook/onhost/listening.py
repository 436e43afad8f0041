"""Who listens on a port: the process behind the socket, and its unit."""

from __future__ import annotations

import contextlib
import os

from runbook.onhost import cgroups
from runbook.onhost.calls import reading
from runbook.onhost.masking import mask_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from runbook.onhost.session import Session

_LISTEN = "0A"  # TCP_LISTEN in /proc/net/tcp
_COMMAND_LIMIT = 400


@reading
def listening(session: Session, ports: list[int]) -> dict[str, list[dict[str, Any]]]:
    sockets = {port: inodes(session.proc, port) for port in ports}
    owners = _owners(session.proc, {inode for found in sockets.values() for inode in found})
    return {
        str(port): [
            describe(session.proc, pid)
            for pid in sorted({pid for inode in found for pid in owners.get(inode, ())})
        ]
        for port, found in sockets.items()
    }


def inodes(proc: str, port: int) -> set[str]:
    """The inodes of the sockets that listen on a TCP port, IPv4 and IPv6."""
    lines = (line for family in ("tcp", "tcp6") for line in _lines(f"{proc}/net/{family}"))
    return {inode for line in lines for inode in _inode(line, port)}


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().splitlines()[1:]
    except OSError:
        return []


def _inode(line: str, port: int) -> Iterable[str]:
    fields = line.split()
    if len(fields) > 9 and fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
        yield fields[9]


def _owners(proc: str, wanted: set[str]) -> dict[str, set[int]]:
    """Who has these sockets open; what is not ours to read is left out."""
    owners: dict[str, set[int]] = {}
    for pid in cgroups.table(proc) if wanted else ():
        for inode in _sockets(proc, pid) & wanted:
            owners.setdefault(inode, set()).add(pid)
    return owners


def _sockets(proc: str, pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(f"{proc}/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"{proc}/{pid}/fd/{name}"))
    return {link[len("socket:[") : -1] for link in found if link.startswith("socket:[")}


def describe(proc: str, pid: int) -> dict[str, Any]:
    """A process as messages name it: command line with secrets masked, unit, parent, and how long after the boot it started."""
    one = cgroups.process(proc, pid)
    return {
        "pid": pid,
        "cmdline": _command(proc, pid),
        "unit": unit_of(cgroups.group_of(proc, pid) or ""),
        "parent": one.parent if one else 0,
        "after_boot_s": one.start_ticks / os.sysconf("SC_CLK_TCK") if one else 0.0,
    }


def _command(proc: str, pid: int) -> str:
    try:
        with open(f"{proc}/{pid}/cmdline", "rb") as file:
            words = file.read(_COMMAND_LIMIT).split(b"\0")
    except OSError:
        return ""
    return mask_text(b" ".join(words).decode("utf-8", "replace").strip())


def unit_of(group: str) -> str | None:
    """The innermost service of a control group's path."""
    return next((part for part in reversed(group.split("/")) if part.endswith(".service")), None)
