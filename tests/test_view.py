"""A person at a terminal, asked a question: on a real pseudo-terminal, since Ctrl-C is the terminal's own."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

ASKING = """
import sys
from runbook.interrupt import Interrupt
from runbook.view import View

interrupt = Interrupt()
with interrupt.listening():
    said_yes = View(sys.stdout, silent={silent}).ask("apply?", within_s={within_s})
print("answer:", said_yes, interrupt.asked)
"""


def told(keys: bytes = b"", *, silent: bool = False, within_s: float | None = None) -> str:
    """What the terminal shows in the end, `keys` typed once a question was shown that waits so long.

    They are typed until they are taken: a Ctrl-C just before Python begins to read is remembered, but wakes nobody.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(Path(__file__).parents[1])
        os.execv(sys.executable, [sys.executable, "-c", ASKING.format(silent=silent, within_s=within_s)])
    shown = b""
    with contextlib.suppress(OSError):  # Linux says EIO once the other side is closed
        while "answer:" not in shown.decode():
            if select.select([terminal], [], [], 0.2)[0]:
                shown += os.read(terminal, 4096)
            elif b"[y/N] " in shown:
                os.write(terminal, keys)
        while more := os.read(terminal, 4096):
            shown += more
    os.waitpid(pid, 0)
    os.close(terminal)
    return shown.decode()


@pytest.mark.parametrize(
    ("keys", "yes"), [(b"y\n", True), (b"yes\n", True), (b"\n", False), (b"\x04", False)]
)
@pytest.mark.parametrize("within_s", [None, 60.0])
def test_only_yes_is_yes(keys: bytes, yes: bool, within_s: float | None) -> None:
    assert f"answer: {yes} False" in told(keys, within_s=within_s)


@pytest.mark.parametrize("within_s", [None, 60.0])
def test_ctrl_c_at_a_question_answers_it_at_once_with_no(within_s: float | None) -> None:
    assert "answer: False False" in told(b"\x03", within_s=within_s)


def test_a_question_that_nobody_answers_in_time_is_answered_with_no_and_says_so() -> None:
    shown = told(within_s=1.0)
    assert "[y/N] \r\nno answer within 1 s: that counts as no\r\nanswer: False False" in shown


def test_nobody_is_asked_where_one_document_is_all_that_is_printed() -> None:
    assert told(silent=True) == "answer: False False\r\n"
