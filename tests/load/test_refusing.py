"""What a command line of the load generator is refused for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runbook.load.refusing import may_write

PLACES = {
    "a new file": ("new", True),
    "an old file": ("old", True),
    "a directory": ("folder", False),
    "a file of a folder that is not there": ("none/new", False),
    "a file below a file": ("old/new", False),
    "a name that is too long": ("x" * 300, False),
    "what lies elsewhere": ("/dev/null", True),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_file_may_be_written_where_it_is_or_can_be_made(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, wanted = PLACES[name]
    (tmp_path / "old").touch()
    (tmp_path / "folder").mkdir()
    assert may_write(tmp_path / place) is wanted
    monkeypatch.chdir(tmp_path)
    assert may_write(Path(place)) is wanted


def test_a_folder_that_takes_no_new_file_still_has_those_that_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As /dev is to all but root, who may write anywhere: so the question itself is answered here."""
    (tmp_path / "old").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    assert may_write(tmp_path / "old")
    assert not may_write(tmp_path / "new")
