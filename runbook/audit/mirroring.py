"""The local mirror of a host's audit chain, byte for byte.

The host's chain is the record; this copy is for looking at it from here.
A mirror that the host's chain does not continue is never written over: it is set aside and told of. Either this copy is
damaged, or the host's history is another than it was.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.audit.chain import Head, beyond, first_defect
from runbook.audit.owed import Owed
from runbook.audit.record import parse, records_of
from runbook.errors import HelperError

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from runbook.audit.record import Record
    from runbook.model import Host
    from runbook.ssh import Wire

ASIDE = ".aside"
MOST_BYTES = 512 * 1024 * 1024  # of a chain, in memory here; some twenty thousand rollouts


@dataclass(frozen=True, slots=True)
class Mirrored:
    """How copying went: how many bytes came, `why` it is no continuation of what was here, and where that is now."""

    size_bytes: int
    aside: Path | None = None
    why: str = ""

    @property
    def note(self) -> str:
        """What the operator must be told, empty where all is as it was."""
        kept = f"; it is kept in {self.aside}, and the host's chain was copied anew" if self.aside else ""
        return f"{self.why}{kept}"


def directory(project: Path) -> Path:
    """Where a project keeps its mirrors, one `<host>.jsonl` a host."""
    return project / ".runbook" / "audit"


def path_of(project: Path, host: str) -> Path:
    """The mirror of a host; it need not be there."""
    return directory(project) / f"{host}.jsonl"


def mirror(wire: Wire, host: Host, directory: Path, now: datetime.datetime) -> Mirrored:
    """Bring the mirror up to the host's chain, on the disk when we return. Raises OSError and `runbook.errors`."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = directory / f"{host.name}.jsonl"
    with _alone(directory):
        here = path.read_bytes() if path.exists() else b""
        continues, more = _fetch(wire, host.state, here)
        Owed(directory, host.name).settle(here + more if continues else more)
        if continues:
            _append(path, more)
            return Mirrored(len(more), why=_remember(path, here + more))
        why = _why(here, more)
        aside = path.with_name(f"{path.name}.{now:%Y%m%dT%H%M%S%f}{ASIDE}")
        path.replace(aside)
        _head_path(path).unlink(missing_ok=True)
        _append(path, more)
        _remember(path, more)
    return Mirrored(len(more), aside, why)


def forget(directory: Path, host: str) -> None:
    """Remove a host's mirror and all that was set aside: its chain begins anew on purpose (a lab laid again)."""
    Owed(directory, host).forget()
    for path in directory.glob(f"{host}.jsonl*"):
        path.unlink(missing_ok=True)


def set_aside(path: Path) -> tuple[Path, ...]:
    """The copies that had to make way for this mirror, oldest first."""
    return tuple(sorted(path.parent.glob(f"{path.name}.*{ASIDE}")))


def head(path: Path) -> Head | None:
    """The last record the mirror was known to hold, None where nothing was ever copied."""
    try:
        seq, hash_ = _head_path(path).read_text(encoding="ascii").split()
        return int(seq), hash_
    except (OSError, ValueError):
        return None


def read_chain(wire: Wire, state: str) -> bytes:
    """All of the host's chain, byte for byte."""
    return _rest(wire, state, 0)


def _fetch(wire: Wire, state: str, here: bytes) -> tuple[bool, bytes]:
    """Whether the host's chain begins with what is here, and what follows; all of it where it does not."""
    answer = wire.call("audit_read", state=state, offset=len(here), sha256=hashlib.sha256(here).hexdigest())
    if answer["same"]:
        more = base64.b64decode(answer["b64"])
        return True, more + _rest(wire, state, len(here) + len(more), answer["size"])
    return False, _rest(wire, state, 0)


def _rest(wire: Wire, state: str, offset: int, size: int | None = None) -> bytes:
    """The chain's bytes from `offset`, in as many answers as it takes."""
    content = b""
    while size is None or offset + len(content) < size:
        answer = wire.call("audit_read", state=state, offset=offset + len(content))
        more = base64.b64decode(answer["b64"])
        size = size or answer["size"]
        if not more and offset + len(content) < size:
            raise HelperError(f"audit_read: the chain ended after {offset + len(content)} of {size} bytes")
        content += more
        if len(content) > MOST_BYTES:
            raise HelperError(f"audit_read: of a chain of {size} bytes at most {MOST_BYTES} are taken")
    return content


def _why(here: bytes, chain: bytes) -> str:
    """What speaks against the old copy, or that nothing does."""
    if (defect := first_defect(here)) is not None:
        return f"the copy here was damaged ({defect})"
    there = {record.hash for record in records_of(chain)}
    lost = next((record for record in records_of(here) if record.hash not in there), None)
    if lost is None:
        return "the host's chain has other bytes than the copy here, with the same records"
    return f"the copy here holds record #{lost.seq} {lost.id}, which the host's chain no longer has"


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Runs in other windows take turns at the mirrors."""
    descriptor = os.open(directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _append(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _remember(path: Path, content: bytes) -> str:
    """Note the chain's head beside the mirror, so that a cut end shows; returns what speaks against an earlier note.

    A note that is not borne out stays: it is all that is left of what was seen here.
    """
    before = head(path)
    found = _from(content, before[0]) if before else records_of(content)
    lost = beyond(found, [before], "the note beside the copy") if before else None
    if lost is None and found:
        fresh = _head_path(path).with_suffix(".new")
        fresh.write_text(f"{found[-1].seq} {found[-1].hash}\n", encoding="ascii")
        fresh.replace(_head_path(path))
    return str(lost or "")


def _from(content: bytes, seq: int) -> Sequence[Record]:
    """The records from the last of that number on, so that years of a chain are not read each time; else all of them."""
    found: list[Record] = []
    for line in reversed(content.split(b"\n")):
        if (record := parse(line)) is not None:
            found.append(record)
            if record.seq <= seq:
                break
    return found[::-1] if found and found[-1].seq == seq else records_of(content)


def _head_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.head")
