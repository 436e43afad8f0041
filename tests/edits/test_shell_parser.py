from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from runbook.edits.shell import parser
from runbook.errors import InterruptedByOperator

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
