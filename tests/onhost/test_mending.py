"""While the files of a release still lie on the disk, damage to its bytes is mended and never met at night."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runbook.errors import MissingOnHostError
from runbook.onhost import objects
from runbook.onhost.files import digest
from tests.onhost.saving import old_release, save

if TYPE_CHECKING:
    from runbook.ssh import InProcessWire


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "serve.sh"
    path.write_bytes(b"export A=1\n")
    return path


def held(state: str) -> Path:
    return Path(objects.path_of(state, str(digest(b"export A=1\n"))))


def read(wire: InProcessWire, state: str, path: Path) -> bytes:
    files = wire.call("release_read", state=state, id="r1")["files"]
    return base64.b64decode(files[str(path)]["b64"])


def test_what_is_whole_is_left_alone(locked: InProcessWire, state: str, script: Path) -> None:
    save(locked, state, [script, script.with_name("absent")], id="r1")
    before = held(state).stat().st_mtime_ns
    script.write_bytes(b"edited since\n")
    assert locked.call("release_mend", state=state, id="r1") == {"mended": [], "damaged": []}
    assert held(state).stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", [b"rotten", None])
def test_damaged_bytes_are_kept_anew_from_the_disk(
    locked: InProcessWire, state: str, script: Path, damage: bytes | None
) -> None:
    save(locked, state, [script], id="r1")
    held(state).unlink()
    if damage is not None:
        held(state).write_bytes(damage)
    assert locked.call("release_mend", state=state, id="r1") == {"mended": [str(script)], "damaged": []}
    script.unlink()
    assert read(locked, state, script) == b"export A=1\n"


@pytest.mark.parametrize("now", [b"edited since\n", None])
def test_what_the_disk_holds_no_more_is_said(
    locked: InProcessWire, state: str, script: Path, now: bytes | None
) -> None:
    save(locked, state, [script], id="r1")
    held(state).unlink()
    script.unlink()
    if now is not None:
        script.write_bytes(now)
    assert locked.call("release_mend", state=state, id="r1") == {"mended": [], "damaged": [str(script)]}


def test_a_release_with_copies_of_its_own_is_mended_too(
    locked: InProcessWire, state: str, script: Path
) -> None:
    old_release(state, "r1", script)
    Path(f"{state}/releases/r1/files{script}").write_bytes(b"rotten")
    assert locked.call("release_mend", state=state, id="r1") == {"mended": [str(script)], "damaged": []}
    assert read(locked, state, script) == b"export A=1\n"


def test_a_release_that_is_none_cannot_be(locked: InProcessWire, state: str) -> None:
    with pytest.raises(MissingOnHostError, match="no release r1"):
        locked.call("release_mend", state=state, id="r1")
