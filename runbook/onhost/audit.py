"""The audit chain: one JSON record a line, each carrying the hash of the one before it."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os

from runbook.onhost import frames, journalheads
from runbook.onhost import state as directory
from runbook.onhost.calls import Refusal, reading, running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Optional

    from runbook.onhost.session import Session

GENESIS = "0" * 64  # what the first record names as the one before it
LIMIT_BYTES = 8 * 1024 * 1024  # of the chain in one answer
# What the host says of a record's place; nobody else may.
PLACED = ("seq", "prev", "torn", "hash")


def canonical(record: Mapping[str, Any]) -> bytes:
    """The bytes a record's hash is taken over: keys sorted, no spaces, ASCII, without its own hash."""
    return _dumped({key: value for key, value in record.items() if key != "hash"})


def canonical_line(linked: Mapping[str, Any]) -> bytes:
    """A record as its line; there is no other way to write it."""
    return _dumped(linked) + b"\n"


def _dumped(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")


def digest(record: Mapping[str, Any]) -> str:
    """SHA-256 of a record, in hexadecimal."""
    return hashlib.sha256(canonical(record)).hexdigest()


def place(content: bytes) -> dict[str, Any]:
    """Where the next record of a chain stands: its `seq`, and `prev`, the hash of the one before.

    `torn` is the SHA-256 of what crashes left half written at the end, several lines where they came one after the other:
    these stay, and the next record owns up to them.
    """
    last = next(_backwards(content), None)
    here = {"seq": last["seq"] + 1, "prev": last["hash"]} if last else {"seq": 1, "prev": GENESIS}
    half = content.split(b"\n") if not content.endswith(b"\n") else []
    whole = next((at for at in range(len(half), 0, -1) if record_of(half[at - 1]) is not None), 0)
    left = b"\n".join(half[whole:])
    return {**here, **({"torn": hashlib.sha256(left).hexdigest()} if left else {})}


def linked(record: Mapping[str, Any], here: Mapping[str, Any]) -> dict[str, Any]:
    """The record in its place."""
    bare = {key: value for key, value in record.items() if key not in PLACED}
    placed = {**bare, **here}
    return {**placed, "hash": digest(placed)}


def record_of(line: bytes) -> Optional[dict[str, Any]]:
    """The record of a line; what a crash left half written is none, and so is a number that JSON has no word for."""
    try:
        found = json.loads(line, parse_constant=frames.no_number, parse_float=frames.finite)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(found, dict) and type(found.get("seq")) is int and isinstance(found.get("hash"), str)
    return found if whole else None


def _backwards(content: bytes) -> Iterator[dict[str, Any]]:
    for line in reversed(content.split(b"\n")):
        found = record_of(line)
        if found is not None:
            yield found


def append(
    path: str,
    record: Mapping[str, Any],
    expected: Optional[Mapping[str, Any]] = None,
    *,
    once: bool = False,
) -> Optional[dict[str, Any]]:
    """Chain a record to the file's last one, on the disk when we return. Appenders take turns.

    `expected` is the place the record was signed for: Refusal `changed` where another record has it. With `once` a
    record whose id the chain knows is not written again, and None returned.
    """
    with directory.opened(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        content = _content(descriptor)
        here = place(content)
        if expected is not None and dict(expected) != here:
            raise Refusal("changed", f"the audit chain has grown meanwhile: the next is #{here['seq']}", here)
        if once and _knows(content, record):
            return None
        fresh = linked(record, here)
        newline = b"\n" if content and not content.endswith(b"\n") else b""
        _write_whole(descriptor, newline + canonical_line(fresh), len(content))
        os.fsync(descriptor)
    directory.sync_directory(os.path.dirname(path))
    return fresh


def _knows(content: bytes, record: Mapping[str, Any]) -> bool:
    return any(found.get("id") == record["id"] for found in _backwards(content))


def _content(descriptor: int) -> bytes:
    size, content = os.fstat(descriptor).st_size, b""
    while len(content) < size:
        piece = os.pread(descriptor, size - len(content), len(content))
        if not piece:
            break
        content += piece
    return content


def _write_whole(descriptor: int, line: bytes, size: int) -> None:
    """Append a line whole; on a full disk take the half of it away again, so that no record is torn."""
    try:
        if os.write(descriptor, line) < len(line):
            raise Refusal("no-space", "the audit record does not fit on the disk")
    except (OSError, Refusal):
        os.ftruncate(descriptor, size)
        raise


@running
def audit_append(
    session: Session,
    state: str,
    record: Mapping[str, Any],
    expected: Optional[Mapping[str, Any]] = None,
    once: bool = False,
) -> dict[str, Any]:
    path = os.path.join(directory.ensure(state), "audit.jsonl")
    written = append(path, record, expected, once=once)
    if written is None:
        return {"known": True}
    told = journalheads.tell(state, written)
    return {"known": False, "seq": written["seq"], "hash": written["hash"], "journal": told}


@reading
def audit_place(session: Session, state: str) -> dict[str, Any]:
    return place(_chain(state))


@reading
def audit_read(session: Session, state: str, offset: int = 0, sha256: Optional[str] = None) -> dict[str, Any]:
    """The chain's bytes from `offset`; `same` says whether those before it have this SHA-256."""
    content = _chain(state)
    before = content[:offset]
    same = len(before) == offset and hashlib.sha256(before).hexdigest() == sha256
    more = base64.b64encode(content[offset : offset + LIMIT_BYTES]).decode("ascii")
    return {"size": len(content), "same": same, "b64": more}


@reading
def audit_heads(session: Session, state: str) -> dict[str, Any]:
    return journalheads.known(state)


def _chain(state: str) -> bytes:
    """The chain as it stands between two appends; empty where there is none."""
    path = os.path.join(state, "audit.jsonl")
    if not directory.exists(state) or not os.path.exists(path):
        return b""
    with directory.opened(path, os.O_RDONLY | os.O_NOFOLLOW) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        return _content(descriptor)
