"""What is kept for the next run is read and written only where nobody else can."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runbook import usercache


class Trap:
    """A pickle of it would make a file where it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.path,))


def test_what_is_kept_is_read_back_and_ours_alone(tmp_path: Path) -> None:
    path = tmp_path / "hosts" / "a.pickle"
    usercache.keep(path, b"kept", most=2)
    assert usercache.read(path) == b"kept"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["a.pickle"]


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_a_directory_others_can_write_is_neither_read_nor_written(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "a.pickle"
    path.write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    path.chmod(0o600)
    tmp_path.chmod(mode)
    assert usercache.unpickled(path, Trap) is None
    usercache.keep(path, b"new", most=2)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.pickle"]
    assert path.read_bytes() != b"new"


def test_a_file_others_can_write_and_a_symlink_are_not_read(tmp_path: Path) -> None:
    path, link = tmp_path / "a.pickle", tmp_path / "b.pickle"
    path.write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    link.symlink_to(path)
    path.chmod(0o666)
    assert usercache.unpickled(path, Trap) is None
    path.chmod(0o600)
    assert usercache.unpickled(link, Trap) is None
    assert not (tmp_path / "sprung").exists()


def test_a_symlink_laid_where_we_write_leads_nowhere(tmp_path: Path) -> None:
    path, precious = tmp_path / "a.pickle", tmp_path / "precious"
    precious.write_bytes(b"precious")
    (tmp_path / f".a.pickle.{os.getpid()}").symlink_to(precious)
    usercache.keep(path, b"kept", most=2)
    assert (precious.read_bytes(), path.read_bytes()) == (b"precious", b"kept")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")
def test_a_directory_of_another_user_is_not_written(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, 12345, 12345)
    usercache.keep(theirs / "a.pickle", b"kept", most=2)
    assert list(theirs.iterdir()) == []


def test_what_a_full_disk_took_of_a_file_does_not_stay(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "a.pickle"
    path.mkdir(parents=True)  # nothing can be put in its place
    usercache.keep(path, b"kept", most=2)
    assert [entry.name for entry in path.parent.iterdir()] == ["a.pickle"]


def test_what_is_gone_before_its_turn_keeps_nobody_from_removing_the_rest(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number}.sealed").write_bytes(b"")
    with ThreadPoolExecutor(8) as runs:
        list(runs.map(lambda most: usercache.prune(tmp_path / "0.sealed", most), range(290, 0, -10)))
    assert len(list(tmp_path.iterdir())) == 10
