"""Removal: taking words out of statements, and statements left empty out of the script with their lines."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from runbook.edits.shell.splices import Splice
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from runbook.edits.shell.launch import Launch
    from runbook.edits.shell.statements import Operands, Statement
    from runbook.edits.shell.words import Span

_BLANK = re.compile(rb"(?:[ \t]|\\\n)*")


def of_operands(source: bytes, taken: Sequence[tuple[Statement, Collection[Span]]]) -> Iterator[Splice]:
    """Splices that take operands out of declarations, assignments and unsets, given in the script's order.

    A statement of which nothing is left goes as a whole.
    """
    emptied: list[Statement] = []
    for statement, tokens in taken:
        operands, gone = statement.operands, set(tokens)
        if statement.redirected or operands is None:
            raise EditRefusedError(
                "the assignment shares its statement with redirections or operators; put it on a line of its own",
                line=statement.line,
            )
        if gone == set(operands.spans):
            emptied.append(statement)
        else:
            yield from _some(operands, gone)
    yield from (_of_statement(source, statement) for statement in _joined(source, emptied))


def _joined(source: bytes, emptied: Sequence[Statement]) -> list[Statement]:
    """The statements, neighbours on one line taken together."""
    joined: list[Statement] = []
    for statement in emptied:
        last = joined[-1] if joined else None
        if last and last.after == statement.span[0] and b"\n" not in source[last.span[1] : last.after]:
            span = (last.span[0], statement.span[1])
            joined[-1] = last._replace(span=span, body_end=statement.body_end, after=statement.after)
        else:
            joined.append(statement)
    return joined


def _some(operands: Operands, gone: set[Span]) -> Iterator[Splice]:
    spans = operands.spans
    last_kept = max(position for position, span in enumerate(spans) if span not in gone)
    for position, span in enumerate(spans):
        if span not in gone:
            continue
        if operands.bare and position < last_kept:
            yield Splice(span[0], spans[position + 1][0])
        else:
            yield Splice(spans[position - 1][1] if position else operands.keyword_end, span[1])


def of_launch_words(source: bytes, launch: Launch, tokens: Collection[Span]) -> Iterator[Splice]:
    """Splices that take prefix or env assignments out of the launching command."""
    ends = [word.span[1] for word in launch.words]
    prefix = [site.token for site in launch.sites if site.where == "prefix"]
    yield from _of_prefix(source, [*prefix, *(word.span for word in launch.words[:1])], tokens)
    for span in sorted(set(tokens).difference(prefix)):
        yield Splice(lead(source, ends[ends.index(span[1]) - 1], span[0]), span[1])


def _of_prefix(source: bytes, spans: Sequence[Span], gone: Collection[Span]) -> Iterator[Splice]:
    """Splices that take out assignments before a command; the last of `spans` is the command's own."""
    for position, (span, following) in enumerate(itertools.pairwise(spans)):
        if span not in gone:
            continue
        before = spans[position - 1] if position else None
        blank = _BLANK.fullmatch(source, span[1], following[0])
        if (
            before
            and before not in gone
            and following not in gone
            and _ends_line(source, before, span, following)
        ):
            yield Splice(before[1], span[1])
        else:
            yield Splice(span[0], following[0] if blank else span[1])


def _ends_line(source: bytes, before: Span, span: Span, following: Span) -> bool:
    """Whether a word is the last on its line and not the first: what follows stays where it stands."""
    alone = _BLANK.fullmatch(source, before[1], span[0]) and b"\n" not in source[before[1] : span[0]]
    return bool(alone) and b"\n" in source[span[1] : following[0]]


def lead(source: bytes, before: int, start: int) -> int:
    """Where taking out a word begins: after the word before it, unless a redirection stands between."""
    return before if _BLANK.fullmatch(source, before, start) else start


def _of_statement(source: bytes, statement: Statement) -> Splice:
    """The splice that takes a whole statement out, with its line when nothing else stands on it."""
    start, end = statement.span
    line_start = source.rfind(b"\n", 0, start) + 1
    last = line_end(source, end)
    alone = not source[line_start:start].strip(b" \t") and is_rest(source[end:last])
    if alone:
        return Splice(line_start, min(last + 1, len(source)))
    inserted = statement.before is not None and source[statement.before : start] == b"; "
    followed = statement.after is not None and b"\n" not in source[end : statement.after]
    if inserted and followed and statement.body_end < end:
        return Splice(
            start - 2, statement.body_end
        )  # what an insertion put there, with the blanks it found behind
    if statement.after is not None and followed:
        return Splice(start, statement.after)
    if statement.before is not None and b"\n" not in source[statement.before : start]:
        return Splice(statement.before, statement.body_end)
    return Splice(start, end)


def is_rest(text: bytes) -> bool:
    """Whether what follows a statement on its line is nothing but blanks and a comment."""
    stripped = text.strip(b" \t")
    return not stripped or stripped.startswith(b"#")


def line_end(source: bytes, offset: int) -> int:
    """Offset of the end of the line an offset stands on, before its newline."""
    found = source.find(b"\n", offset)
    return len(source) if found < 0 else found
