"""Files are wholly old or wholly new, and nothing of them is lost."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from runbook.errors import EditRefusedError, FileChangedError, PreflightError
from runbook.onhost import room, write
from runbook.onhost.calls import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runbook.ssh import InProcessWire

OLD = b"#!/bin/bash\nexport A=1\n"
NEW = b"#!/bin/bash\nexport A=2\n"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def change(path: Path, before: bytes | None, after: bytes | None, **more: Any) -> dict[str, Any]:
    return {
        "path": str(path),
        "before": None if before is None else sha256(before),
        "b64": None if after is None else base64.b64encode(after).decode(),
        **more,
    }


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "srv" / "serve.sh"
    path.parent.mkdir()
    path.write_bytes(OLD)
    path.chmod(0o750)
    return path


def leftovers(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir() if path.name.startswith(".")}


def test_new_bytes_arrive_and_the_mode_stays(writing: InProcessWire, script: Path) -> None:
    answer = writing.call("files_write", changes=[change(script, OLD, NEW, check="bash")])
    assert answer == {str(script): sha256(NEW)}
    assert script.read_bytes() == NEW
    assert script.stat().st_mode & 0o7777 == 0o750
    assert not leftovers(script.parent)


def test_any_bytes_arrive_as_they_are(writing: InProcessWire, script: Path) -> None:
    content = bytes(range(256)) * 3 + "héllo\n$x `y` \\ '".encode()
    writing.call("files_write", changes=[change(script, OLD, content)])
    assert script.read_bytes() == content


def test_a_symlink_stays_and_its_target_is_edited(writing: InProcessWire, script: Path) -> None:
    link = script.with_name("link.sh")
    link.symlink_to("serve.sh")
    writing.call("files_write", changes=[change(link, OLD, NEW)])
    assert link.is_symlink()
    assert str(link.readlink()) == "serve.sh"
    assert script.read_bytes() == NEW


def test_a_file_that_changed_since_the_plan_stops_every_change(writing: InProcessWire, script: Path) -> None:
    other = script.with_name("other.sh")
    other.write_bytes(b"edited by hand")
    with pytest.raises(FileChangedError, match=r"other\.sh changed since it was read") as caught:
        writing.call("files_write", changes=[change(script, OLD, NEW), change(other, OLD, NEW)])
    assert caught.value.data["path"] == str(other)
    assert script.read_bytes() == OLD
    assert other.read_bytes() == b"edited by hand"


def test_a_file_that_appeared_or_vanished_has_changed_too(writing: InProcessWire, script: Path) -> None:
    with pytest.raises(FileChangedError, match=r"planned on no file"):
        writing.call("files_write", changes=[change(script, None, NEW)])
    with pytest.raises(FileChangedError, match=r"found no file"):
        writing.call("files_write", changes=[change(script.with_name("gone"), OLD, NEW)])


def test_a_text_bash_refuses_never_gets_in_place(writing: InProcessWire, script: Path) -> None:
    with pytest.raises(EditRefusedError, match=r"serve\.sh: line 2: .*unexpected") as caught:
        writing.call("files_write", changes=[change(script, OLD, b"#!/bin/bash\nif then\n", check="bash")])
    assert ".runbook-new" not in str(caught.value)
    assert script.read_bytes() == OLD
    assert not leftovers(script.parent)


def test_a_second_file_that_is_refused_leaves_the_first_alone(writing: InProcessWire, script: Path) -> None:
    other = script.with_name("other.sh")
    other.write_bytes(OLD)
    changes = [change(script, OLD, NEW, check="bash"), change(other, OLD, b"fi\n", check="bash")]
    with pytest.raises(EditRefusedError):
        writing.call("files_write", changes=changes)
    assert [script.read_bytes(), other.read_bytes()] == [OLD, OLD]


def test_a_fresh_file_gets_the_mode_and_owner_asked_for(writing: InProcessWire, script: Path) -> None:
    drop_in = script.parent / "x.service.d" / "10-flags.conf"
    writing.call(
        "files_write",
        changes=[change(drop_in, None, b"[Service]\n", mode=0o640, uid=os.geteuid(), gid=os.getegid())],
    )
    assert drop_in.read_bytes() == b"[Service]\n"
    assert drop_in.stat().st_mode & 0o7777 == 0o640
    assert drop_in.parent.stat().st_mode & 0o7777 == 0o755


def test_a_fresh_file_without_a_mode_can_be_read_by_all(writing: InProcessWire, script: Path) -> None:
    writing.call("files_write", changes=[change(script.with_name("fresh"), None, b"x")])
    assert script.with_name("fresh").stat().st_mode & 0o7777 == 0o644


def test_no_bytes_means_absent(writing: InProcessWire, script: Path) -> None:
    assert writing.call("files_write", changes=[change(script, OLD, None)]) == {str(script): None}
    assert not script.exists()
    assert writing.call("files_write", changes=[change(script, None, None)]) == {str(script): None}


def test_removing_a_symlink_leaves_what_it_led_to(writing: InProcessWire, script: Path) -> None:
    link = script.with_name("link.sh")
    link.symlink_to("serve.sh")
    writing.call("files_write", changes=[change(link, OLD, None)])
    assert not link.is_symlink()
    assert script.read_bytes() == OLD


def test_two_changes_of_one_file_are_refused(writing: InProcessWire, script: Path) -> None:
    link = script.with_name("link.sh")
    link.symlink_to("serve.sh")
    with pytest.raises(PreflightError, match="two changes lead to one file"):
        writing.call("files_write", changes=[change(script, OLD, NEW), change(link, OLD, NEW)])


def test_what_a_crash_left_beside_the_file_is_cleared(writing: InProcessWire, script: Path) -> None:
    script.with_name(".serve.sh.runbook-new").write_bytes(b"half")
    script.with_name(".serve.sh.runbook-old").write_bytes(OLD)
    writing.call("files_write", changes=[change(script, OLD, NEW)])
    assert script.read_bytes() == NEW
    assert not leftovers(script.parent)


def test_extended_attributes_come_along(writing: InProcessWire, script: Path) -> None:
    if not hasattr(os, "setxattr"):
        pytest.skip("this system has no extended attributes in Python")
    try:
        os.setxattr(script, "user.owner", b"serving")
    except OSError:
        pytest.skip("this file system keeps no extended attributes")
    writing.call("files_write", changes=[change(script, OLD, NEW)])
    assert os.getxattr(script, "user.owner") == b"serving"


def test_a_file_that_was_gone_gets_the_attributes_it_is_said_to_have_had(
    writing: InProcessWire, tmp_path: Path
) -> None:
    path = tmp_path / "gone.sh"
    kept = {"user.owner": b"serving".hex(), "trusted.nobody\0": "00", "user.odd": "no hexadecimal"}
    writing.call("files_write", changes=[{**change(path, None, NEW), "xattrs": kept}])
    assert path.read_bytes() == NEW
    if hasattr(os, "listxattr") and "user.owner" in os.listxattr(path):
        assert os.getxattr(path, "user.owner") == b"serving"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_stays(writing: InProcessWire, script: Path) -> None:
    os.chown(script, 12345, 23456)
    script.chmod(0o4755)
    writing.call("files_write", changes=[change(script, OLD, NEW)])
    found = script.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (12345, 23456, 0o4755)


def test_a_rename_that_fails_half_way_brings_the_first_file_back(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = script.with_name("other.sh")
    other.write_bytes(OLD)
    inode = script.stat().st_ino
    replace = write._replace

    def failing(swap: write.Swap) -> None:
        if swap.target == str(other):
            raise OSError(5, "Input/output error", swap.target)
        replace(swap)

    monkeypatch.setattr(write, "_replace", failing)
    with pytest.raises(OSError, match="Input/output"):
        write.write([write.Change.parse(change(path, OLD, NEW)) for path in (script, other)])
    assert [script.read_bytes(), other.read_bytes()] == [OLD, OLD]
    assert script.stat().st_ino == inode
    assert not leftovers(script.parent)


def test_an_old_file_that_cannot_be_brought_back_is_not_thrown_away(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(swap: write.Swap) -> None:
        raise OSError(5, "Input/output error", swap.target)

    monkeypatch.setattr(write, "_read_back", failing)
    monkeypatch.setattr(write, "_put_back", failing)
    with pytest.raises(OSError, match="Input/output"):
        write.write([write.Change.parse(change(script, OLD, NEW))])
    assert script.with_name(".serve.sh.runbook-old").read_bytes() == OLD


@pytest.mark.parametrize(
    ("left", "kind"),
    [
        (room.Room(100, 100, False), "no-space"),
        (room.Room(1 << 30, 0, False), "no-space"),
        (room.Room(1 << 30, 100, True), "read-only"),
    ],
    ids=["bytes", "inodes", "read-only"],
)
def test_without_room_not_a_byte_is_written(
    script: Path, monkeypatch: pytest.MonkeyPatch, left: room.Room, kind: str
) -> None:
    monkeypatch.setattr(room, "room", lambda path: left)
    monkeypatch.setattr(write, "_stage", lambda swap: pytest.fail("a byte was written"))
    with pytest.raises(Refusal) as caught:
        write.write([write.Change.parse(change(script, OLD, NEW))])
    assert caught.value.kind == kind
    assert script.read_bytes() == OLD


def test_a_directory_is_no_file_to_write(writing: InProcessWire, script: Path) -> None:
    with pytest.raises(PreflightError, match="is not a regular file"):
        writing.call("files_write", changes=[change(script.parent, OLD, NEW)])


@pytest.mark.parametrize("path", ["serve.sh", "/srv/../etc/passwd", "/srv//x"])
def test_a_path_that_is_not_absolute_and_plain_is_refused(path: str) -> None:
    with pytest.raises(Refusal) as caught:
        write.Change.parse({"path": path, "before": None, "b64": None})
    assert caught.value.kind == "invalid"


# ------------------------------------------------------------------ a real file system without room


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KB with a script in it; only root on Linux can mount one."""
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("only root on Linux mounts file systems")
    root = tmp_path / "small"
    root.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(root)], check=False)
    if made.returncode != 0:
        pytest.skip("this machine mounts nothing")
    (root / "serve.sh").write_bytes(OLD)
    try:
        yield root / "serve.sh"
    finally:
        subprocess.run(["umount", str(root)], check=True)


@pytest.mark.real
def test_a_full_disk_ends_before_the_first_byte(writing: InProcessWire, small: Path) -> None:
    fill(small.parent)
    with pytest.raises(PreflightError, match=r"0 bytes free, \d+ needed"):
        writing.call("files_write", changes=[change(small, OLD, NEW)])
    assert small.read_bytes() == OLD


@pytest.mark.real
def test_a_disk_that_fills_while_we_write_leaves_the_old_file(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "require", lambda wanted: None)
    fill(small.parent)
    with pytest.raises(OSError, match="No space left on device"):
        write.write([write.Change.parse(change(small, OLD, NEW * 1000))])
    assert small.read_bytes() == OLD
    assert not leftovers(small.parent)


@pytest.mark.real
def test_a_read_only_file_system_is_said(writing: InProcessWire, small: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small.parent)], check=True)
    with pytest.raises(PreflightError, match="is on a read-only file system"):
        writing.call("files_write", changes=[change(small, OLD, NEW)])
    state = str(small.parent / "state")
    found = writing.call("observe", state=state, files=[str(small)], units=[], names=[], patterns=[])["disk"]
    assert found["read_only"] == [state, str(small)]
    assert small.read_bytes() == OLD


def fill(directory: Path) -> None:
    with contextlib.suppress(OSError), (directory / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
