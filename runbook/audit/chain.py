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
    """A line of the file: its number from 1, its bytes, the record it holds if it holds one, and whether that is sound."""

    number: int
    content: bytes
    record: Record | None
    sound: bool

    @classmethod
    def of(cls, number: int, line: bytes) -> _Line:
        record = parse(line)
        sound = record is not None and is_sound(record)
        return cls(number, line, record, sound)


def _of_lines(lines: Sequence[_Line]) -> Defect | None:
    seq, prev = 1, GENESIS
    left: list[
        _Line
    ] = []  # lines that are no record: right only where the next record names them as what crashes left
    for line in lines:
        if line.record is None:
            left.append(line)
            continue
        defect = _owning_up(line.record, seq, left) or _in_place(line, line.record, seq, prev, lines)
        if defect is not None:
            return defect
        seq, prev, left = seq + 1, line.record.hash, []
    return _edited(seq, left[0]) if left else None


def _owning_up(record: Record, seq: int, left: Sequence[_Line]) -> Defect | None:
    if not left:
        return None
    torn = hashlib.sha256(b"\n".join(line.content for line in left)).hexdigest()
    return None if record.document.get("torn") == torn else _edited(seq, left[0])


def _in_place(line: _Line, record: Record, seq: int, prev: str, lines: Sequence[_Line]) -> Defect | None:
    if not line.sound:
        return _edited(seq, line)
    if record.seq != seq:
        return _misplaced(record, seq, lines)
    if record.document.get("prev") != prev:
        return Defect(seq, "replaced", _other_parent(record, prev))
    follows_half = line.number > 1 and lines[line.number - 2].record is None
    if (record.document.get("torn") is not None) is not follows_half:
        return Defect(seq, "edited", f"the half line before line {line.number} is not the one it names")
    return None


def _edited(seq: int, line: _Line) -> Defect:
    return Defect(seq, "edited", f"line {line.number} is not the record that was written there")


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
