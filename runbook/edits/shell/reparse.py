"""Parsing again after splices, at the cost of the change and not of the script.

A shell reads its script from top to bottom, and between two top-level statements it remembers nothing of the text before.
So where the lines around a change parse as whole statements, the lines above and below parse as they did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runbook.edits.shell.removal import line_end
from runbook.edits.shell.script import flat, read
from runbook.edits.shell.splices import Splice, apply
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.edits.shell.script import Piece, Script


_HEADS = {b"#!": "a comment that names an interpreter", b"\xef\xbb\xbf": "a byte order mark"}


class _Window(NamedTuple):
    """Whole lines around a change that cut no statement, and the bytes they become."""

    start: int
    end: int
    text: bytes


def reparse(script: Script, splices: Sequence[Splice]) -> Script:
    """The script after the splices. Offsets and lines of its statements are not those of the new text.

    Raises EditRefusedError where the change does not parse as whole statements, or the file would begin as another kind.
    """
    windows = _windows(script, splices)
    parsed = read(b"".join(window.text for window in windows))
    pieces: list[Piece] = []
    position = border = 0
    for window in windows:
        pieces += [piece for piece in script.pieces if position <= piece.start < window.start]
        position, first, border = window.end, border, border + len(window.text)
        inside = [piece for piece in parsed if first <= piece.start < border]
        if any(piece.extent > border for piece in inside):
            raise EditRefusedError("the edited lines are no whole statements; edit the script by hand")
        pieces += inside
    pieces += [piece for piece in script.pieces if piece.start >= position]
    source = apply(script.source, splices)
    _refuse_new_head(script.source, source)
    return script._replace(source=source, pieces=tuple(pieces), statements=flat(pieces))


def _refuse_new_head(before: bytes, after: bytes) -> None:
    """What says how a whole file is to be read does so only at its very beginning: nothing may come to stand there."""
    for head, what in _HEADS.items():
        if after.startswith(head) and not before.startswith(head):
            raise EditRefusedError(f"{what} would come to begin the file")


def _windows(script: Script, splices: Sequence[Splice]) -> list[_Window]:
    spans: list[tuple[int, int]] = []
    for splice in sorted(splices, key=lambda splice: splice.start):
        start, end = _grown(script, splice.start, splice.end)
        if spans and start <= spans[-1][1]:
            spans[-1] = (min(spans[-1][0], start), max(spans[-1][1], end))
        else:
            spans.append((start, end))
    return [_window(script, start, end, splices) for start, end in spans]


def _window(script: Script, start: int, end: int, splices: Sequence[Splice]) -> _Window:
    inside = [
        Splice(splice.start - start, splice.end - start, splice.text)
        for splice in splices
        if start <= splice.start and splice.end <= end
    ]
    text = apply(script.source[start:end], inside)
    return _Window(start, end, text if text.endswith(b"\n") else text + b"\n")


def _grown(script: Script, start: int, end: int) -> tuple[int, int]:
    """The span grown to whole lines that cut no piece."""
    while True:
        lower, upper = script.source.rfind(b"\n", 0, start) + 1, _next_line(script.source, end)
        touched = [piece for piece in script.pieces if piece.start < upper and piece.extent > lower]
        lower, upper = (
            min([lower, *(piece.start for piece in touched)]),
            max([upper, *(piece.extent for piece in touched)]),
        )
        if (lower, upper) == (start, end):
            return start, end
        start, end = lower, upper


def _next_line(source: bytes, offset: int) -> int:
    """The offset itself where a line starts there, else the start of the next line."""
    starts = offset == 0 or source.startswith(b"\n", offset - 1)
    return offset if starts else min(line_end(source, offset) + 1, len(source))
