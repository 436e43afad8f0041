"""The local mirror of a host's audit chain. The host's chain is the record; this copy is for looking at it from here."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from runbook.model import Host
    from runbook.ssh import Wire


def mirror(wire: Wire, host: Host, directory: Path) -> int:
    """Append the host's records that the mirror lacks; returns how many. Bytes are kept as the host wrote them."""
    path = directory / f"{host.name}.jsonl"
    records = wire.call("audit_read", state=host.state, after=_last_seq(path))["records"]
    if records:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        _append(path, "".join(f"{record}\n" for record in records))
    return len(records)


def _last_seq(path: Path) -> int:
    """The highest seq in the mirror, 0 for an empty or missing one."""
    if not path.exists():
        return 0
    last = path.read_bytes().rstrip(b"\n").rpartition(b"\n")[2]
    return int(json.loads(last)["seq"]) if last else 0


def _append(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
