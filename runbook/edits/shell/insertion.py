"""Insertion: where a new line of exports goes, and what is written there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.edits.shell.removal import is_rest, line_end
from runbook.edits.shell.splices import Splice

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from runbook.edits.shell.environment import Environment
    from runbook.edits.shell.script import Script
    from runbook.edits.shell.statements import Statement


def of_lines(
    found: Environment, lines: Sequence[str], *, not_before: int = -1, gone: Collection[int] = ()
) -> Splice:
    """The splice that adds commands after the last top-level export before the launch, else after the header.

    `not_before` is the index of a statement they must follow, `gone` are those that are being taken out.
    """
    script = found.script
    for anchor in _anchors(found, not_before):
        statement = script.statements[anchor]
        if _has_line(script, statement):
            return _on_new_lines(script.source, statement, lines)
        if anchor not in gone:
            return Splice(
                statement.body_end, statement.body_end, b"".join(b"; " + _bytes(line) for line in lines)
            )
    offset = _comments_end(script.source)
    return Splice(offset, offset, b"".join(_bytes(line) + b"\n" for line in lines))


def _anchors(found: Environment, not_before: int) -> Iterator[int]:
    """The statements new lines may follow, the best first."""
    script = found.script
    launch = found.launch.first if found.launch else len(script.statements)
    plain = _allexported(found)
    exports = [i for i, statement in enumerate(script.statements[:launch]) if statement.exports or i in plain]
    yield from (anchor for anchor in reversed(exports) if anchor > not_before)
    last = not_before if not_before >= 0 else _header(script, launch)
    if last >= 0:
        yield last


def _allexported(found: Environment) -> frozenset[int]:
    """Statements that export because of `set -a`."""
    return frozenset(p.at for sites in found.placed.values() for p in sites if p.site.where == "set -a")


def _header(script: Script, launch: int) -> int:
    """The last of the `set` statements a script begins with, or -1."""
    count = 0
    for statement in script.statements[:launch]:
        if statement.first != "set":
            break
        count += 1
    return count - 1


def _has_line(script: Script, statement: Statement) -> bool:
    """Whether a statement is the last on its line, and no here-document's body follows."""
    last = line_end(script.source, statement.span[1])
    return is_rest(script.source[statement.span[1] : last]) and not _before_document(script, last)


def _on_new_lines(source: bytes, statement: Statement, lines: Sequence[str]) -> Splice:
    """Lines after a statement's line, indented as it is."""
    last = line_end(source, statement.span[1])
    head = source[source.rfind(b"\n", 0, statement.span[0]) + 1 : statement.span[0]]
    indent = head[: len(head) - len(head.lstrip(b" \t"))]
    if last == len(source):
        return Splice(last, last, b"".join(b"\n" + indent + _bytes(line) for line in lines))
    return Splice(last + 1, last + 1, b"".join(indent + _bytes(line) + b"\n" for line in lines))


def _bytes(line: str) -> bytes:
    return line.encode("utf-8", "surrogateescape")


def _before_document(script: Script, offset: int) -> bool:
    """Whether the line that ends at an offset is followed by a here-document's body."""
    return any(s.documents and line_end(script.source, s.body_end) == offset for s in script.statements)


def _comments_end(source: bytes) -> int:
    """The offset after the shebang and the comments that follow it without a blank line."""
    offset = 0
    while source.startswith(b"#", offset):
        end = line_end(source, offset)
        if end == len(source):
            break
        offset = end + 1
    return offset
