from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from runbook.edits.serve_script import edit
from runbook.edits.shell import parser
from runbook.errors import EditRefusedError, InterruptedByOperator

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def pressed(tmp_path: Path) -> Path:
    """A program that ends as a terminal's Ctrl-C ends it."""
    program = tmp_path / "bash"
    program.write_text(f"#!/bin/sh\nkill -{signal.SIGINT.value} $$\n")
    program.chmod(0o700)
    return program


@pytest.mark.real
def test_a_ctrl_c_that_ends_the_parser_is_no_fault_of_the_script(
    pressed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parser, "shfmt", lambda: pressed)
    with pytest.raises(InterruptedByOperator):
        parser.statements(b"export A=1\n")


@pytest.mark.real
def test_a_ctrl_c_that_ends_bash_is_no_fault_of_the_script(
    pressed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{pressed.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(InterruptedByOperator), parser.second_opinion(b"export A=1\n"):
        pass


def test_a_script_of_nothing_but_commands_is_refused_before_it_takes_all_memory() -> None:
    begun = time.process_time()
    with pytest.raises(EditRefusedError, match="has 1048576 bytes of commands, at most 524288 are read"):
        edit("m\n" * (1 << 19), set={"K": "1"})
    assert time.process_time() - begun < 10


def test_an_answer_of_the_parser_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "_ANSWER_BYTES", 10_000)
    with pytest.raises(EditRefusedError, match="more commands than are read"):
        parser.statements(b"m x\n" * 50)


def test_a_parser_that_does_not_come_to_an_end_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "_TIMEOUT_S", 0.0)
    with pytest.raises(EditRefusedError, match="the shell parser did not come to an end"):
        parser.statements(b"m x\n" * 5000)
    with (
        pytest.raises(EditRefusedError, match="bash -n did not come to an end"),
        parser.second_opinion(b"m x\n" * 5000),
    ):
        pass


def test_plain_exports_and_comments_may_be_as_many_as_they_are() -> None:
    comment = "x" * 300
    lines = "".join(f"# {comment}\nexport A{n}={n}\n" for n in range(2_500))
    assert len(parser.statements(f"set -e\n{lines}exec python\n".encode())) == 2_502
