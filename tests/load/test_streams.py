"""The evidence file: one run's alone, and bounded when it is read again."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from runbook.load.exchange import Answer
from runbook.load.streams import NoStreamFileError, Spool, StreamFile, read_streams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def spool() -> Iterator[Spool]:
    with contextlib.closing(Spool()) as kept:
        kept.add(1, Answer(b"data: [DONE]\n\n" * 1000))
        yield kept


def test_a_file_that_another_run_writes_is_left_to_it(tmp_path: Path, spool: Spool) -> None:
    path = tmp_path / "s.gz"
    with contextlib.closing(StreamFile(path, {"tag": "first"})) as first:
        first.keep(0, 0, spool)
        with contextlib.closing(StreamFile(path, {"tag": "second"})) as second:
            second.keep(1, 0, spool)
        first.keep(2, 0, spool)
    assert (first.lost, second.written) == ("", None)
    assert second.lost == f"{path}: another run is writing it"
    run, kept = read_streams(path)
    assert (run["tag"], [one.session for one in kept]) == ("first", [0, 2])


def test_a_file_that_unpacks_to_more_than_any_run_is_not_read_on(tmp_path: Path, spool: Spool) -> None:
    path = tmp_path / "s.gz"
    with contextlib.closing(StreamFile(path, {})) as file:
        file.keep(0, 0, spool)
    with pytest.raises(NoStreamFileError, match="more than 1000 bytes"):
        read_streams(path, most_bytes=1000)
