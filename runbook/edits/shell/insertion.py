"""Insertion: where a new line of exports goes, and what is written there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.edits.shell.removal import is_rest, line_end
from runbook.edits.shell.splices import Splice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.edits.shell.environment import Environment
    from runbook.edits.shell.script import Script
    from runbook.edits.shell.statements import Statement


def of_lines(found: Environment, lines: Sequence[str], *, not_before: int = -1) -> Splice:
    """The splice that adds commands after the last top-level export before the launch, else after the header.

    `not_before` is the index of a statement they must follow.
    """
    script = found.script
    launch = found.launch.index if found.launch else len(script.statements)
    exports = [
        i
        for i, statement in enumerate(script.statements[:launch])
        if statement.exports or i in _allexported(found)
    ]
    anchor = max([*exports[-1:], not_before], default=-1)
    if anchor < 0:
        anchor = _header(script, launch)
    if anchor >= 0:
        return _after(script, script.statements[anchor], lines)
    offset = _comments_end(script.source)
    return Splice(offset, offset, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))


def _allexported(found: Environment) -> frozenset[int]:
    """Statements that export because of `set -a`."""
    return frozenset(p.index for sites in found.placed.values() for p in sites if p.site.where == "set -a")


def _header(script: Script, launch: int) -> int:
    """The last of the `set` statements a script begins with, or -1."""
    count = 0
    for statement in script.statements[:launch]:
        if statement.first != "set":
            break
        count += 1
    return count - 1


def _after(script: Script, statement: Statement, lines: Sequence[str]) -> Splice:
    source = script.source
    last = line_end(source, statement.span[1])
    alone = is_rest(source[statement.span[1] : last]) and not _before_document(script, last)
    if not alone:
        offset = statement.body_end
        return Splice(
            offset, offset, "".join(f"; {line}" for line in lines).encode("utf-8", "surrogateescape")
        )
    begin = source.rfind(b"\n", 0, statement.span[0]) + 1
    head = source[begin : statement.span[0]]
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
