"""The outline of a script: what we read of plain lines is what mvdan/sh reads of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from runbook.edits.shell import parser, script
from runbook.edits.shell.outline import filled, outline
from runbook.edits.shell.words import end, start
from runbook.errors import EditRefusedError
from tests.edits.scripts import scripts

if TYPE_CHECKING:
    from runbook.edits.shell.statements import Statement

PLAIN = (
    "export A=1",
    "  export B=x,y:/z",
    "export C=",
    "export D='it is $(not) \\'",
    'export E="two words [x] (y)"',
    "\texport F='é｜' # why",
    'export G=""\t',
    "export H='' # a 'quote",
    "# a comment",
    "   # export K=1",
    "",
    "  ",
)
RUN = "".join(f"{line}\n" for line in PLAIN)
UNQUOTED = "".join(f"{line}\n" for line in PLAIN if "'" not in line) + "# a longer comment, for room\n"


def both(source: bytes) -> tuple[list[Statement], list[Statement]]:
    """The statements by the outline, and those of the whole text."""
    outlined = outline(source)
    nodes = filled(source, outlined, parser.parsed(outlined.text))
    assert nodes is not None
    return _statements(source, nodes), _statements(source, parser.parsed(source))


def _statements(source: bytes, nodes: list[parser.Node]) -> list[Statement]:
    return list(script.flat(script.pieces(source, nodes)))


def test_plain_lines_are_read_as_the_parser_reads_them() -> None:
    source = f"#!/bin/bash\nset -e\n{RUN}\nexec python\n".encode()
    outlined = outline(source)
    assert (len(outlined.runs), len(outlined.text)) == (1, len(source))
    by_outline, by_parser = both(source)
    assert by_outline == by_parser
    assert len(by_parser) == 10


@pytest.mark.parametrize(
    "line",
    [
        "export A=~/x", "export A=$B", "export A=`id`", 'export A="$B"', "export A=1 B=2", "export A=1;", "export A=a=b",
        "export A=1 # c \\", "# c \\", "export A=1 \\", "export A=(1)", "export A={a,b}", "export A='a", "export  A=1",
        "export A+=1", "export A=1&", "export A=a\\ b", 'export A="a\\"b"', "export A=#x", "export A=*", "A=1",
    ],
)  # fmt: skip
def test_what_is_not_plain_is_no_part_of_a_run(line: str) -> None:
    source = f"{RUN}{line}\n".encode()
    assert [source[end:].decode() for _, end in outline(source).runs] == [f"{line}\n"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cat <<EOF\n", "EOF\n"),
        ("if true; then\n", "fi\n"),
        ("f() {\n", "}\nf\n"),
        ("{\n", "}\n"),
        ("(\n", ")\n"),
        ("true &&\n", ""),
        ("true |\n", ""),
        ("ARGS=(\n", ")\n"),
        ("echo \\\n", ""),
        ("echo $(\n", ")\n"),
        ("X='\n", "'\n"),
    ],
)
def test_a_run_that_is_not_at_the_top_is_left_to_the_parser(before: str, after: str) -> None:
    source = f"{before}{UNQUOTED}{after}exec python\n".encode()
    outlined = outline(source)
    assert outlined.runs
    assert filled(source, outlined, parser.parsed(outlined.text)) is None
    assert script.read(source) == script.pieces(source, parser.parsed(source))


@pytest.mark.parametrize("before", ['X="\n', "if true; then\n", "cat <<EOF\n"])
def test_what_the_parser_rejects_is_told_of_the_whole_text(before: str) -> None:
    source = f'{before}{RUN}"\n'.encode()
    with pytest.raises(EditRefusedError) as refused:
        parser.statements(source)
    with pytest.raises(EditRefusedError) as whole:
        parser.parsed(source)
    assert (refused.value.line, refused.value.reason) == (whole.value.line, whole.value.reason)


def test_a_script_that_uses_our_mark_is_left_alone() -> None:
    source = f"export __runbook_run_0=1\n{RUN}".encode()
    assert outline(source).runs == ()


@given(text=scripts(), at=st.integers(0, 20))
def test_a_run_anywhere_in_a_script_changes_no_reading(text: str, at: int) -> None:
    lines = text.splitlines(keepends=True)
    source = ("".join(lines[:at]) + RUN + "".join(lines[at:])).encode()
    try:
        whole = script.pieces(source, parser.parsed(source))
    except EditRefusedError:
        event("no script")
        return
    outlined = outline(source)
    event(f"{len(outlined.runs)} runs")
    assert script.read(source) == whole


def test_every_byte_and_line_stands_where_it_stood() -> None:
    source = f"true\n{RUN}false\n".encode()
    outlined = outline(source)
    assert outlined.text.count(b"\n") == source.count(b"\n")
    nodes = parser.parsed(outlined.text)
    assert source[start(nodes[-1]) : end(nodes[-1])] == b"false"
