"""The evidence file: one run's alone, and bounded when it is read again."""

from __future__ import annotations

import contextlib
import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from runbook.load.exchange import Answer
from runbook.load.streams import NoStreamFileError, Spool, StreamFile, prune, read_streams

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


def test_no_more_is_written_than_is_read_back(tmp_path: Path, spool: Spool) -> None:
    path = tmp_path / "s.gz"
    with contextlib.closing(StreamFile(path, {}, most_bytes=50_000)) as file:
        for session in range(4):
            file.keep(session, 0, spool)
    assert file.lost == f"{path}: it is as large as one may be"
    assert [one.session for one in read_streams(path, most_bytes=50_000)[1]] == [0, 1]


def test_runs_that_begin_together_remove_old_evidence_together(tmp_path: Path) -> None:
    """Each client process of a run does: what another has removed meanwhile must not cost it its own evidence."""
    for number in range(400):
        (tmp_path / f"runbook-{number}.gz").write_bytes(b"")
    with ThreadPoolExecutor(8) as runs:
        list(runs.map(lambda most: prune(tmp_path, "runbook-*.gz", most=most), range(390, 0, -10)))
    assert 10 <= len(list(tmp_path.iterdir())) < 400


def test_of_files_without_a_name_the_youngest_stay_and_those_in_use(tmp_path: Path) -> None:
    names = [f"runbook-{number}.gz" for number in range(6)]
    for number, name in enumerate(names):
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (number, number))
    (tmp_path / "runbook-link.gz").symlink_to(tmp_path / names[5])
    with (tmp_path / names[0]).open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        prune(tmp_path, "runbook-*.gz", most=2)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [names[0], names[4], names[5], "runbook-link.gz"]
