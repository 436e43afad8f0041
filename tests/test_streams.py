from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING

import pytest

from runbook.events import Run
from runbook.plain import Plain
from runbook.streams import Dropping, text

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):  # the test closed it
            os.close(end)


def test_what_is_written_arrives_and_nothing_is_lost(pipe: tuple[int, int]) -> None:
    raw = Dropping(pipe[1])
    stream = text(raw, "utf-8", by_line=True)
    stream.write("übrigens\n")
    assert os.read(pipe[0], 100) == "übrigens\n".encode()
    assert raw.lost is None


def test_a_reader_that_left_ends_no_rollout_and_is_remembered(pipe: tuple[int, int]) -> None:
    raw = Dropping(pipe[1])
    told = Run([Plain(text(raw, "utf-8", by_line=True))])
    os.close(pipe[0])
    with told.step("write"):
        pass
    with told.step("restart"):
        pass
    assert [step.name for step in told.steps] == ["write", "restart"]
    assert raw.lost is not None
    assert raw.lost.errno == errno.EPIPE


def test_a_pipe_somebody_made_non_blocking_is_waited_for(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[1], False)
    while True:
        try:
            os.write(pipe[1], b"x" * 4096)
        except BlockingIOError:
            break
    reader = os.fork()
    if reader == 0:
        os.read(pipe[0], 1 << 20)
        os._exit(0)
    raw = Dropping(pipe[1])
    assert raw.write(b"more") == 4
    os.waitpid(reader, 0)
    assert raw.lost is None


def test_a_character_the_terminal_lacks_is_written_as_an_escape(pipe: tuple[int, int]) -> None:
    stream = text(Dropping(pipe[1]), "ascii", by_line=True)
    stream.write("✓ é\n")
    assert os.read(pipe[0], 100) == b"\\u2713 \\xe9\n"


def test_what_is_written_to_a_stream_that_was_closed_is_lost_and_nothing_else(pipe: tuple[int, int]) -> None:
    raw = Dropping(pipe[1], closed_before=True)
    assert raw.lost is None
    assert raw.write(b"words") == 5
    assert raw.lost is not None
    assert raw.lost.errno == errno.EBADF
