"""`restore.sh`, for the night when nothing else is there: run for real, with nothing but coreutils on PATH."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runbook.onhost import objects
from runbook.onhost.files import digest
from tests.onhost.saving import ODD, old_release, save
from tests.sshd import script

if TYPE_CHECKING:
    from runbook.ssh import InProcessWire

pytestmark = pytest.mark.real

NEEDED = ("sh", "dirname", "mkdir", "rm", "cp", "cat", "chown", "chmod", "mv", "ln", "sync")
SCRIPT = b"export A=1\n\xff"  # what `files` has behind its link


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A PATH of coreutils alone: no Python, nothing of ours."""
    found = tmp_path / "bare"
    found.mkdir()
    for tool in (*NEEDED, "sha256sum"):
        there = [Path(home, tool) for home in ("/bin", "/usr/bin") if Path(home, tool).exists()]
        (found / tool).symlink_to(there[0])
    return found


def restored(home: str, bare: Path) -> subprocess.CompletedProcess[str]:
    """Run a release's restore.sh, however it ends."""
    return subprocess.run(
        [f"{home}/restore.sh"], env={"PATH": str(bare)}, capture_output=True, text=True, check=False, cwd="/"
    )


def home(state: str, name: str) -> str:
    return f"{state}/releases/{name}"


def test_it_puts_everything_back(
    locked: InProcessWire, state: str, files: dict[str, Path], bare: Path
) -> None:
    name = save(locked, state, files.values())
    files["link"].write_bytes(b"export A=2 and much longer than before\n")
    files["odd"].unlink()
    files["absent"].write_bytes(b"[Service]\n")
    real = files["link"].parent / "real" / "decode.sh"
    inode = real.stat().st_ino
    done = restored(home(state, name), bare)
    assert (done.returncode, done.stderr) == (0, "")
    assert files["link"].is_symlink()
    assert real.read_bytes() == SCRIPT
    assert real.stat().st_mode & 0o7777 == 0o750
    assert real.stat().st_ino != inode, "an open script must not change under its shell"
    assert files["odd"].read_bytes() == b"odd\n"
    assert not files["absent"].exists()
    assert done.stdout.count("\n") == 3


def test_it_makes_a_lost_link_again(
    locked: InProcessWire, state: str, files: dict[str, Path], bare: Path
) -> None:
    name = save(locked, state, files.values())
    files["link"].unlink()
    (files["link"].parent / "real" / "decode.sh").unlink()
    (files["link"].parent / "real").rmdir()
    assert restored(home(state, name), bare).returncode == 0
    assert str(files["link"].readlink()) == "real/decode.sh"
    assert files["link"].read_bytes() == SCRIPT


def test_run_twice_it_changes_nothing_more(
    locked: InProcessWire, state: str, files: dict[str, Path], bare: Path
) -> None:
    name = save(locked, state, files.values())
    first = restored(home(state, name), bare)
    assert restored(home(state, name), bare).stdout == first.stdout
    assert sorted(path.name for path in files["odd"].parent.iterdir()) == sorted(["decode.sh", "real", ODD])


def test_it_works_through_the_link_to_the_current_release(
    locked: InProcessWire, state: str, files: dict[str, Path], bare: Path
) -> None:
    locked.call("set_current", state=state, id=save(locked, state, files.values()))
    files["odd"].unlink()
    assert restored(f"{state}/current", bare).returncode == 0
    assert files["odd"].read_bytes() == b"odd\n"


@pytest.mark.parametrize("damage", ["rotten", "gone", "a directory"])
def test_before_the_first_file_is_touched_it_names_an_object_that_is_not_what_it_was(
    locked: InProcessWire, state: str, files: dict[str, Path], bare: Path, damage: str
) -> None:
    name = save(locked, state, files.values())
    held = Path(objects.path_of(state, str(digest(b"odd\n"))))
    held.unlink()
    if damage == "rotten":
        held.write_bytes(b"rotten")
    elif damage == "a directory":
        held.mkdir()
    files["link"].write_bytes(b"as it is now\n")
    done = restored(home(state, name), bare)
    assert done.returncode == 1
    assert held.name in done.stderr
    assert f"which held {files['odd']}; nothing was restored" in done.stderr
    assert files["link"].read_bytes() == b"as it is now\n"


def test_without_sha256sum_it_says_that_it_cannot_look(
    locked: InProcessWire, state: str, files: dict[str, Path], bare: Path
) -> None:
    name = save(locked, state, files.values())
    (bare / "sha256sum").unlink()
    files["odd"].unlink()
    done = restored(home(state, name), bare)
    assert done.returncode == 0
    assert done.stderr.splitlines() == ["sha256sum is not here: the bytes are restored as they are"]
    assert files["odd"].read_bytes() == b"odd\n"


def test_a_release_of_before_there_were_objects_still_restores(
    locked: InProcessWire, state: str, files: dict[str, Path], bare: Path
) -> None:
    real = files["link"].resolve()
    old_release(state, "r1", real)
    real.write_bytes(b"newer\n")
    locked.call("set_current", state=state, id=save(locked, state, files.values(), id="r2", parent="r1"))
    locked.call("release_prune", state=state, keep=1)
    assert restored(home(state, "r1"), bare).returncode == 0
    assert real.read_bytes() == SCRIPT


# ------------------------------------------------------------------ what a file carries besides its bytes


@pytest.fixture
def carrying(files: dict[str, Path]) -> Path:
    """A file with an attribute of somebody's and an ACL; skips where the file system keeps none."""
    path = files["odd"]
    acl = bytes.fromhex(
        "02000000 01000700ffffffff 02000500 39300000 04000500ffffffff 10000500ffffffff 20000000ffffffff"
    )
    try:
        os.setxattr(path, "user.owner", b"ser\0ving")
        os.setxattr(path, "system.posix_acl_access", acl)
    except (OSError, AttributeError):
        pytest.skip("this file system keeps no extended attributes")
    return path


def attributes(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}


# What setfattr(1) does with these options; the real one runs in tests/system, where there is one.
SETFATTR = f"""\
exec {sys.executable} -I -S -c '
import os, sys
_, option, name, flag, value, end, path = sys.argv
assert (option, flag, end, value[:2]) == ("-n", "-v", "--", "0x")
os.setxattr(path, name, bytes.fromhex(value[2:]))' "$@"
"""


def test_a_file_that_is_gone_comes_back_with_its_attributes_where_there_is_setfattr(
    locked: InProcessWire, state: str, carrying: Path, bare: Path
) -> None:
    name, before = save(locked, state, [carrying]), (attributes(carrying), carrying.stat().st_mode)
    script(bare / "setfattr", SETFATTR)
    carrying.unlink()
    done = restored(home(state, name), bare)
    assert (done.returncode, done.stderr) == (0, "")
    assert (attributes(carrying), carrying.stat().st_mode) == before


def test_with_setfacl_alone_the_acl_comes_back_and_the_rest_is_said(
    locked: InProcessWire, state: str, carrying: Path, bare: Path
) -> None:
    name = save(locked, state, [carrying])
    script(bare / "setfacl", f'printf "%s\\n" "$@" >{bare}/asked\n')
    carrying.unlink()
    done = restored(home(state, name), bare)
    assert (bare / "asked").read_text().splitlines() == [
        "--set", "u::rwx,u:12345:r-x,g::r-x,m::r-x,o::---", "--", f"{carrying}.runbook-restore",
    ]  # fmt: skip
    assert done.stderr.splitlines() == [f"not restored: user.owner of {carrying}, for want of setfattr"]
    assert carrying.read_bytes() == b"odd\n"


@pytest.mark.parametrize("there", [False, True], ids=["absent", "refusing"])
def test_attributes_that_cannot_be_given_back_are_said_and_the_bytes_are_back(
    locked: InProcessWire, state: str, carrying: Path, bare: Path, there: bool
) -> None:
    name = save(locked, state, [carrying])
    for tool in ("setfattr", "setfacl") if there else ():
        script(bare / tool, "exit 1\n")
    carrying.unlink()
    done = restored(home(state, name), bare)
    assert done.returncode == 0
    assert [line.partition(" of ")[0] for line in done.stderr.splitlines()] == [
        "not restored: system.posix_acl_access",
        "not restored: user.owner",
    ]
    assert carrying.read_bytes() == b"odd\n"


def test_a_file_that_is_there_keeps_what_it_carries_now(
    locked: InProcessWire, state: str, carrying: Path, bare: Path
) -> None:
    name = save(locked, state, [carrying])
    os.setxattr(carrying, "user.owner", b"another")
    done = restored(home(state, name), bare)
    assert (done.returncode, done.stderr) == (0, "")
    assert os.getxattr(carrying, "user.owner") == b"another"
    assert "system.posix_acl_access" in os.listxattr(carrying)
