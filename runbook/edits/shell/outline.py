"""The outline of a long script: runs of lines whose meaning is plain are left to us, so that the parser reads the rest.

mvdan/sh reads a script from left to right, and prints a kilobyte of tree for a line of `export NAME=value`. A run of such
lines, comments and blank lines is given to it as one statement that fills the same bytes and lines. Where it finds that
statement at the top level it would have found each line of the run there, and all that follows as it does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.edits.shell.parser import Node

_LINES = 4  # shorter runs are not worth it
_MARK = b"__runbook_run_"
_EXPORT = rb"""export ([A-Za-z_][A-Za-z0-9_]*)=('[^'\n]*'|"[^"\\$`!\n]*"|[A-Za-z0-9_@%+:,./-]*)"""
_COMMENT = rb"\#[^\\\n]*"
_RUN = re.compile(
    rb"^(?:[ \t]*(?:%s(?:[ \t]+%s|[ \t]*)|%s|)\n){%d,}" % (_EXPORT, _COMMENT, _COMMENT, _LINES), re.MULTILINE
)
_LINE = re.compile(rb"[ \t]*(?:%s)?[^\n]*\n" % _EXPORT)
_KINDS = {b"'": "SglQuoted", b'"': "DblQuoted"}


class Outline(NamedTuple):
    """A script's text with a statement in place of each run, byte for byte as long; `runs` are their spans."""

    text: bytes
    runs: tuple[tuple[int, int], ...]


def outline(source: bytes) -> Outline:
    """The outline of a script; without runs it is the script itself."""
    if _MARK in source:
        return Outline(source, ())
    text: list[bytes] = []
    runs: list[tuple[int, int]] = []
    at = 0
    for found in _RUN.finditer(source):
        statement = _statement(len(runs), found)
        if statement:
            runs.append(found.span())
            text += [source[at : found.start()], statement]
            at = found.end()
    return Outline(b"".join((*text, source[at:])), tuple(runs))


def _statement(number: int, run: re.Match[bytes]) -> bytes:
    """The statement that stands for a run, nothing where it has no room."""
    breaks = run[0].count(b"\n")
    statement = b"export %s%d" % (_MARK, number)
    blanks = len(run[0]) - breaks - len(statement)
    return statement + b" " * blanks + b"\n" * breaks if blanks >= 0 else b""


def filled(source: bytes, outlined: Outline, nodes: Sequence[Node]) -> list[Node] | None:
    """The script's top-level statements from those of its outline; None where a run is no statement at the top."""
    starts = dict(outlined.runs)
    every: list[Node] = []
    for node in nodes:
        end = starts.get(node["Pos"]["Offset"])
        if end is None or not _stands_for_run(node):
            every.append(node)
        else:
            del starts[node["Pos"]["Offset"]]
            every += _exports(source, node["Pos"], end)
    return None if starts else every


def _stands_for_run(node: Node) -> bool:
    command = node.get("Cmd") or {}
    named = [argument.get("Name") for argument in command.get("Args") or ()]
    alone = not {"Redirs", "Background", "Negated", "Semicolon"} & node.keys()
    return alone and command.get("Type") == "DeclClause" and len(named) == 1


def _exports(source: bytes, at: Node, end: int) -> Iterator[Node]:
    """The statements of a run's lines, as mvdan/sh would tell them."""
    line = at["Line"]
    for number, found in enumerate(_LINE.finditer(source, at["Offset"], end), line):
        if found[1] is not None:
            yield _export(found, number)


def _export(found: re.Match[bytes], line: int) -> Node:
    keyword = found.start(1) - len("export ")
    start, end = _at(keyword, line), _at(found.end(2), line)
    name = _node("Lit", _at(found.start(1), line), _at(found.end(1), line), Value=found[1].decode("ascii"))
    argument = _node(None, name["Pos"], end, Name=name)
    if found[2]:
        argument["Value"] = _value(found, line)
    variant = _node("Lit", start, _at(keyword + len("export"), line), Value="export")
    command = _node("DeclClause", start, end, Variant=variant, Args=[argument])
    return _node(None, start, end, Cmd=command)


def _value(found: re.Match[bytes], line: int) -> Node:
    start, end = _at(found.start(2), line), _at(found.end(2), line)
    part = _node(_KINDS.get(found[2][:1], "Lit"), start, end)
    if part["Type"] == "DblQuoted" and len(found[2]) > 2:
        part["Parts"] = [_node("Lit", _at(found.start(2) + 1, line), _at(found.end(2) - 1, line))]
    return _node(None, start, end, Parts=[part])


def _node(kind: str | None, start: Node, end: Node, **more: Any) -> Node:
    node = {"Pos": start, "End": end, **more}
    return node if kind is None else {"Type": kind, **node}


def _at(offset: int, line: int) -> Node:
    return {"Offset": offset, "Line": line}
