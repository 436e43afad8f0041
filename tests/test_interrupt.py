"""Requests to stop, handed to a program that we wait for: none is lost, and none stops its way out."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runbook import interrupt

pytestmark = pytest.mark.real

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CHILD = """
import os, signal, sys, time
sys.stdin.readline()
from runbook import interrupt
try:
    with interrupt.once():
        time.sleep({works_s})
        print("done")
except KeyboardInterrupt:
    for number in interrupt._NUMBERS:
        os.kill(os.getpid(), number)
    print("tidied up")
os.kill(os.getpid(), signal.SIGINT)
"""


def child(works_s: float) -> subprocess.Popen[str]:
    """A program that listens only once it was told to go on, started as one that does not listen yet."""
    with interrupt.held_back():
        return subprocess.Popen(
            [sys.executable, "-c", _CHILD.format(works_s=works_s)],
            cwd=Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip


@pytest.mark.parametrize("number", _NUMBERS)
def test_a_request_waits_until_the_program_listens_and_those_after_it_are_ignored(number: int) -> None:
    with child(works_s=60.0) as started:
        started.send_signal(number)
        said, _ = started.communicate("go on\n", timeout=30)
    assert (said, started.returncode) == ("tidied up\n", 0)


def test_one_that_comes_when_all_is_done_changes_nothing() -> None:
    with child(works_s=0.0) as started:
        said, _ = started.communicate("go on\n", timeout=30)
    assert (said, started.returncode) == ("done\n", 0)


def test_requests_are_passed_on_and_afterwards_are_as_before() -> None:
    before = [signal.getsignal(number) for number in _NUMBERS]
    seen: list[int] = []
    with interrupt.passed_on(seen.append):
        for number in _NUMBERS:
            signal.raise_signal(number)
    assert seen == list(_NUMBERS)
    assert [signal.getsignal(number) for number in _NUMBERS] == before


def test_what_is_held_back_comes_afterwards() -> None:
    seen: list[int] = []
    with interrupt.passed_on(seen.append):
        with interrupt.held_back():
            # For this thread: another one may take what is sent to the process.
            signal.raise_signal(signal.SIGINT)
            assert seen == []
        assert seen == [signal.SIGINT]
