"""Does a chain hold, to the last byte? Pure: bytes in, the first thing that is wrong with them out.

Every line must be the one canonical way to write its record, so that any other byte counts; every record carries its
own hash, its number and the hash of the one before it. What a chain cannot show by itself is that its end was cut:
for that there are heads, `(seq, hash)` as somebody else remembers them (the host's journal, the mirror's own note).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from runbook.audit.record import Record, parse
from runbook.onhost.audit import GENESIS, canonical_line, digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Head = tuple[int, str]
Kind = Literal["edited", "missing", "reordered", "repeated", "replaced", "truncated", "torn"]


@dataclass(frozen=True, slots=True)
class Defect:
    """The first bad record: where it should stand (`seq`), what became of it, and both sides in words."""

    seq: int
    kind: Kind
    message: str

    def __str__(self) -> str:
        return f"record #{self.seq} {self.kind}: {self.message}"


def first_defect(content: bytes) -> Defect | None:
    """The first thing wrong with a chain's bytes, None where it holds. An empty chain holds."""
    *lines, tail = content.split(b"\n")
    found = _of_lines([_Line.of(number, line) for number, line in enumerate(lines, 1)])
    if found is None and tail:
        return Defect(_next_seq(lines), "torn", f"the file ends in {len(tail)} bytes that are no whole line")
    return found


def beyond(content: Sequence[Record], heads: Iterable[Head], teller: str) -> Defect | None:
    """The first head that the records do not bear out; `teller` is who remembers it, such as "the host's journal"."""
    known = {record.seq: record.hash for record in content}
    last = max(known, default=0)
    for seq, hash_ in sorted(heads):
        if known.get(seq) == hash_:
            continue
        if seq > last:
            text = f"{teller} knows #{seq} ({hash_[:12]}), the chain ends at #{last}"
            return Defect(last + 1, "truncated", text)
        there = known.get(seq, "nothing")[:12]
        return Defect(seq, "replaced", f"{teller} knows it as {hash_[:12]}, here stands {there}")
    return None


def is_sound(record: Record) -> bool:
    """Is this, by itself, the record that was hashed?"""
    return _is_canonical(record) and digest(record.document) == record.hash


def _is_canonical(record: Record) -> bool:
    try:
        return canonical_line(record.document) == record.line + b"\n"
    except (ValueError, RecursionError):  # a number JSON does not know, or one nested without end
        return False


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the file: its number from 1, its SHA-256, the record it holds if it holds one, and whether that is sound."""

    number: int
    sha256: str
    record: Record | None
    sound: bool

    @classmethod
    def of(cls, number: int, line: bytes) -> _Line:
        record = parse(line)
        sound = record is not None and is_sound(record)
        return cls(number, hashlib.sha256(line).hexdigest(), record, sound)


def _of_lines(lines: Sequence[_Line]) -> Defect | None:
    seq, prev, torn = 1, GENESIS, None
    for at, line in enumerate(lines):
        if _is_owned_up_to(lines, at) and torn is None:
            torn = line.sha256
            continue
        if line.record is None or not line.sound:
            return Defect(seq, "edited", f"line {line.number} is not the record that was written there")
        if line.record.seq != seq:
            return _misplaced(line.record, seq, lines)
        if line.record.document.get("prev") != prev:
            return Defect(seq, "replaced", _other_parent(line.record, prev))
        if line.record.document.get("torn") != torn:
            return Defect(seq, "edited", f"the half line before line {line.number} is not the one it names")
        seq, prev, torn = seq + 1, line.record.hash, None
    return None


def _is_owned_up_to(lines: Sequence[_Line], at: int) -> bool:
    """A line that is no record is right only where the next record names it as what a crash left half written."""
    following = lines[at + 1].record if at + 1 < len(lines) else None
    return (
        lines[at].record is None
        and following is not None
        and following.document.get("torn") == lines[at].sha256
    )


def _misplaced(record: Record, seq: int, lines: Sequence[_Line]) -> Defect:
    """A sound record with another number than its place asks for."""
    elsewhere = {line.record.seq: line.number for line in lines if line.record is not None and line.sound}
    if record.seq < seq:
        return Defect(record.seq, "repeated", f"it stands again where #{seq} should be")
    if seq in elsewhere:
        return Defect(seq, "reordered", f"it stands on line {elsewhere[seq]}, #{record.seq} in its place")
    return Defect(seq, "missing", f"#{record.seq} stands where it should be")


def _other_parent(record: Record, prev: str) -> str:
    named = str(record.document.get("prev"))[:12]
    return f"it continues {named}, but the one before it is {prev[:12]}: one of the two is not the original"


def _next_seq(lines: Sequence[bytes]) -> int:
    return max((found.seq for line in lines if (found := parse(line)) is not None), default=0) + 1
