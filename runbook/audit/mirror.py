"""The local mirror of a host's audit chain. The host's chain is the record; this copy is for looking at it from here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runbook.audit.record import records

if TYPE_CHECKING:
    from pathlib import Path

    from runbook.model import Host
    from runbook.ssh import Wire


def directory(project: Path) -> Path:
    """Where a project keeps its mirrors, one `<host>.jsonl` a host."""
    return project / ".runbook" / "audit"


def path_of(project: Path, host: str) -> Path:
    """The mirror of a host; it need not be there."""
    return directory(project) / f"{host}.jsonl"


def mirror(wire: Wire, host: Host, directory: Path) -> int:
    """Append the host's records that the mirror lacks; returns how many. Bytes are kept as the host wrote them."""
    path = directory / f"{host.name}.jsonl"
    lines = wire.call("audit_read", state=host.state, after=_last_seq(path))["records"]
    if lines:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        _append(path, "".join(f"{line}\n" for line in lines))
    return len(lines)


def _last_seq(path: Path) -> int:
    """The highest seq in the mirror, 0 for an empty or missing one."""
    return max((record.seq for record in records(path)), default=0)


def _append(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
