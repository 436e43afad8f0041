"""Splices: replacements of byte spans, the only way a script is changed."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Splice(NamedTuple):
    """Bytes start to end become `text`; start equal to end inserts."""

    start: int
    end: int
    text: bytes = b""


def apply(source: bytes, splices: Sequence[Splice]) -> bytes:
    """The bytes with every splice applied; insertions at one offset keep their order."""
    pieces: list[bytes] = []
    position = 0
    for splice in sorted(splices, key=_order):
        pieces += [source[position : splice.start], splice.text]
        position = splice.end
    return b"".join([*pieces, source[position:]])


def collide(splices: Sequence[Splice]) -> bool:
    """Whether two splices want the same bytes."""
    ordered = sorted(splices, key=_order)
    return any(left.end > right.start for left, right in itertools.pairwise(ordered))


def _order(splice: Splice) -> tuple[int, int]:
    return splice.start, splice.end
