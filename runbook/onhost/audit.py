"""The audit chain: one JSON record a line, each carrying the hash of the one before it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os

from runbook.onhost import state as directory
from runbook.onhost.calls import Refusal, reading, running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from runbook.onhost.session import Session

GENESIS = "0" * 64  # what the first record names as the one before it
LIMIT_BYTES = 8 * 1024 * 1024  # of records in one answer


def canonical(record: Mapping[str, Any]) -> bytes:
    """The bytes a record's hash is taken over: keys sorted, no spaces, ASCII, without its own hash."""
    bare = {key: value for key, value in record.items() if key != "hash"}
    return json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def digest(record: Mapping[str, Any]) -> str:
    """SHA-256 of a record, in hexadecimal."""
    return hashlib.sha256(canonical(record)).hexdigest()


def chained(record: Mapping[str, Any], last: Mapping[str, Any] | None) -> dict[str, Any]:
    """The record as the next link after `last`."""
    seq, prev = (last["seq"] + 1, last["hash"]) if last else (1, GENESIS)
    linked = {**record, "seq": seq, "prev": prev}
    return {**linked, "hash": digest(linked)}


def records(content: bytes) -> list[dict[str, Any]]:
    """The whole records of a chain; what a crash left half written is no record."""
    return [found for line in content.split(b"\n") for found in _record(line)]


def _record(line: bytes) -> list[dict[str, Any]]:
    try:
        found = json.loads(line)
    except ValueError:
        return []
    whole = (
        isinstance(found, dict) and isinstance(found.get("seq"), int) and isinstance(found.get("hash"), str)
    )
    return [found] if whole else []


def append(path: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """Chain a record to the file's last one, on the disk when we return. Appenders take turns."""
    with directory.opened(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        content = _content(descriptor)
        known = records(content)
        linked = chained(record, known[-1] if known else None)
        torn = b"" if content.endswith(b"\n") or not content else b"\n"
        _write_whole(descriptor, torn + canonical_line(linked), len(content))
        os.fsync(descriptor)
    directory.sync_directory(os.path.dirname(path))
    return linked


def canonical_line(linked: Mapping[str, Any]) -> bytes:
    """A record as its line."""
    return (
        json.dumps(linked, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii") + b"\n"
    )


def _content(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _write_whole(descriptor: int, line: bytes, size: int) -> None:
    """Append a line whole; on a full disk take the half of it away again, so that no record is torn."""
    try:
        if os.write(descriptor, line) < len(line):
            raise Refusal("no-space", "the audit record does not fit on the disk")
    except (OSError, Refusal):
        os.ftruncate(descriptor, size)
        raise


@running
def audit_append(session: Session, state: str, record: Mapping[str, Any]) -> dict[str, Any]:
    linked = append(os.path.join(directory.ensure(state), "audit.jsonl"), record)
    return {"seq": linked["seq"], "hash": linked["hash"]}


@reading
def audit_read(session: Session, state: str, after: int = 0) -> dict[str, list[str]]:
    path = os.path.join(state, "audit.jsonl")
    if not directory.exists(state) or not os.path.exists(path):
        return {"records": []}
    with directory.opened(path, os.O_RDONLY | os.O_NOFOLLOW) as descriptor:
        lines = _content(descriptor).decode("utf-8", "replace").splitlines()
    return {"records": _bounded([line for line in lines if _follows(line, after)])}


def _follows(line: str, after: int) -> bool:
    """Is it a record after `after`? A line that is no record is shown too: a verifier must see it."""
    found = _record(line.encode("utf-8"))
    return not found or found[0]["seq"] > after


def _bounded(lines: list[str]) -> list[str]:
    """As many of the first lines as one answer carries; the reader asks again after the last."""
    total = 0
    kept: list[str] = []
    for line in lines:
        total += len(line)
        if total > LIMIT_BYTES and kept:
            break
        kept.append(line)
    return kept
