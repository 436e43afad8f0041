"""Files of which another user may know nothing: denied, which is not absent."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runbook.onhost import feeds, files

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root acts as others")
NOBODY = 65534


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that is closed to others, with a file in it."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "serve.sh").write_bytes(b"exec x\n")
    return closed


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that everybody may enter, down from the root, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("name", ["serve.sh", "none.sh"])
def test_below_a_closed_directory_nobody_knows_what_is_there(place: Path, name: str) -> None:
    with nobody():
        found = files.look(str(place / name))
    assert (found["denied"], found["exists"], found["error"]) == (True, None, "Permission denied")


def test_a_closed_file_in_an_open_directory_is_denied_and_there(open_place: Path) -> None:
    script = open_place / "serve.sh"
    script.write_bytes(b"exec x\n")
    script.chmod(0o600)
    with nobody():
        found, none = files.look(str(script)), files.look(str(open_place / "none.sh"))
    assert (found["denied"], found["exists"]) == (True, True)
    assert (none["denied"], none["exists"], none["error"]) == (False, False, None)


def test_what_a_pattern_finds_in_a_closed_directory_is_not_nothing(place: Path) -> None:
    pattern = f"{place}/*.env"
    shown = {"EnvironmentFiles": f"{pattern} (ignore_errors=yes)"}
    with nobody():
        named = list(feeds.named(shown))
        (found,) = feeds.of_units({"a.service": shown}, {}).values()
    assert (named, found["denied"]) == ([pattern], True)
    assert list(feeds.named(shown)) == []
