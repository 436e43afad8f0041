"""A script: its bytes and its statements in order."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from runbook.edits.shell.parser import decode, statements
from runbook.edits.shell.statements import Options, body_end, of_node
from runbook.edits.shell.traversal import survey
from runbook.edits.shell.words import end, start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.edits.shell.parser import Node
    from runbook.edits.shell.statements import Statement
    from runbook.edits.shell.traversal import Survey
    from runbook.edits.shell.words import Span


class Piece(NamedTuple):
    """A node at the very top: its bytes with here-documents, and its statements (several for `{ … }`)."""

    start: int
    extent: int
    statements: tuple[Statement, ...]


class Script(NamedTuple):
    """A script. `shell` is what the shebang switches on; `posix`: it names sh or dash, which know no `$'…'`."""

    source: bytes
    pieces: tuple[Piece, ...]
    statements: tuple[Statement, ...]
    shell: Options
    posix: bool

    def text(self, span: Span) -> str:
        return decode(self.source[span[0] : span[1]])


@functools.lru_cache(maxsize=32)  # a plan reads a text for its flags, its arguments and its places
def parse(source: bytes) -> Script:
    """A script as statements; raises EditRefusedError where it does not parse."""
    shebang = source.partition(b"\n")[0] if source.startswith(b"#!") else b""
    flags = b"".join(word[1:] for word in shebang.split()[1:] if word.startswith(b"-"))
    shell = Options(allexport=b"a" in flags or None, nounset=b"u" in flags or None)
    found = read(source)
    return Script(source, found, flat(found), shell, bool(re.search(rb"[/ ](da|a)?sh\b", shebang)))


def read(source: bytes) -> tuple[Piece, ...]:
    """The pieces of a text, which need not be a whole script."""
    return pieces(source, statements(source))


def pieces(source: bytes, nodes: Sequence[Node]) -> tuple[Piece, ...]:
    """The pieces that top-level nodes stand for."""
    surveys = [survey(source, node) for node in nodes]
    extents = _extents(source, nodes, surveys)
    cuts = _cuts(source, nodes, surveys)
    return tuple(
        Piece(start(node), extent, tuple(_opened(source, nodes, place, seen, cut=cut)))
        for place, (node, seen, extent, cut) in enumerate(zip(nodes, surveys, extents, cuts, strict=True))
    )


def _cuts(source: bytes, nodes: Sequence[Node], surveys: Sequence[Survey]) -> Iterator[bool]:
    """Whether something before each piece on its line may fail, so that bash never comes to it."""
    cut, last = False, 0
    for node, seen in zip(nodes, surveys, strict=True):
        cut = cut and b"\n" not in source[last : start(node)]
        yield cut
        cut, last = cut or seen.fallible, end(node)


def _extents(source: bytes, nodes: Sequence[Node], surveys: Sequence[Survey]) -> list[int]:
    """Where each piece ends; one with here-documents reaches to the line of the first piece after them."""
    extents: list[int] = []
    next_line = next_start = len(source)
    for node, seen in zip(reversed(nodes), reversed(surveys), strict=True):
        if b"\n" in source[end(node) : next_start]:
            next_line = source.rfind(b"\n", 0, next_start) + 1
        extents.append(next_line if seen.documents else end(node))
        next_start = start(node)
    return extents[::-1]


def flat(pieces: Sequence[Piece]) -> tuple[Statement, ...]:
    """The statements of pieces, in order."""
    return tuple(statement for piece in pieces for statement in piece.statements)


def _opened(
    source: bytes, nodes: Sequence[Node], place: int, seen: Survey, *, cut: bool
) -> Iterator[Statement]:
    """The statement at a place of a list, or those of a `{ … }` that stands there."""
    node = nodes[place]
    if _is_group(node):
        inner = node["Cmd"].get("Stmts") or ()
        for position, child in enumerate(inner):
            found = survey(source, child)
            yield from _opened(source, inner, position, found, cut=cut)
            cut = cut or found.fallible
        return
    before = body_end(nodes[place - 1]) if place else None
    after = start(nodes[place + 1]) if place + 1 < len(nodes) else None
    yield of_node(source, node, seen, before, after, cut=cut)


def _is_group(node: Node) -> bool:
    plain = not (node.get("Background") or node.get("Negated") or node.get("Redirs"))
    return plain and (node.get("Cmd") or {}).get("Type") == "Block"
