"""The bytes releases share are there before anything names them, and given out only as what they are."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook.errors import PreflightError
from runbook.onhost import objects
from tests.onhost import saving
from tests.onhost.saving import old_release, save

if TYPE_CHECKING:
    from runbook.ssh import InProcessWire


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "serve.sh"
    path.write_bytes(b"export A=1\n")
    return path


def read(wire: InProcessWire, state: str, name: str, path: Path) -> bytes:
    answer = wire.call("release_read", state=state, id=name)
    return base64.b64decode(answer["files"][str(path)]["b64"])


def held(state: str, content: bytes) -> Path:
    return Path(objects.path_of(state, sha256(content)))


def test_equal_bytes_are_kept_once(locked: InProcessWire, state: str, script: Path) -> None:
    twin = script.with_name("twin.sh")
    twin.write_bytes(script.read_bytes())
    for number in range(3):
        save(locked, state, [script, twin], id=f"r{number}")
    assert saving.objects(state) == {sha256(b"export A=1\n")}
    assert held(state, b"export A=1\n").stat().st_mode & 0o7777 == 0o400


@pytest.mark.parametrize(
    ("damage", "said"), [(b"rotten", "is damaged"), (b"", "is damaged"), (None, "is gone")]
)
def test_a_damaged_object_is_named_and_never_given_out(
    locked: InProcessWire, state: str, script: Path, damage: bytes | None, said: str
) -> None:
    name, path = save(locked, state, [script]), held(state, b"export A=1\n")
    path.unlink()
    if damage is not None:
        path.write_bytes(damage)
    with pytest.raises(PreflightError, match=f"release {name} cannot give {script} back: {path} {said}"):
        locked.call("release_read", state=state, id=name)


def test_what_is_on_the_disk_mends_a_damaged_object_for_every_release(
    locked: InProcessWire, state: str, script: Path
) -> None:
    save(locked, state, [script], id="r1")
    path = held(state, b"export A=1\n")
    path.chmod(0o600)
    path.write_bytes(b"rotten")
    save(locked, state, [script], id="r2")
    assert {name: read(locked, state, name, script) for name in ("r1", "r2")} == dict.fromkeys(
        ("r1", "r2"), b"export A=1\n"
    )


def test_bytes_go_with_the_last_release_that_refers_to_them(
    locked: InProcessWire, state: str, script: Path
) -> None:
    for number, content in enumerate((b"A=1\n", b"A=2\n", b"A=1\n", b"A=3\n")):
        script.write_bytes(content)
        save(locked, state, [script], id=f"r{number}", created=f"2026-01-0{number + 1}")
    locked.call("set_current", state=state, id="r3")
    locked.call("release_prune", state=state, keep=2)
    assert saving.objects(state) == {sha256(b"A=1\n"), sha256(b"A=3\n")}
    assert read(locked, state, "r2", script) == b"A=1\n"


def test_a_prune_takes_what_a_crash_left_and_leaves_what_is_not_ours(
    locked: InProcessWire, state: str, script: Path
) -> None:
    locked.call("set_current", state=state, id=save(locked, state, [script]))
    home = Path(state, "objects")
    for name in (sha256(b"saved, and no manifest came"), f"{sha256(b'half')}.new", "README"):
        (home / name).write_bytes(b"x")
    locked.call("release_prune", state=state, keep=5)
    assert saving.objects(state) == {sha256(b"export A=1\n"), "README"}


def test_while_a_release_is_damaged_no_bytes_go_that_it_may_refer_to(
    locked: InProcessWire, state: str, script: Path
) -> None:
    save(locked, state, [script], id="r1")
    script.write_bytes(b"A=2\n")
    locked.call("set_current", state=state, id=save(locked, state, [script], id="r2"))
    Path(state, "releases", "r1", "manifest.json").write_bytes(b"")
    locked.call("release_prune", state=state, keep=1)
    assert saving.objects(state) == {sha256(b"export A=1\n"), sha256(b"A=2\n")}


def test_releases_of_before_there_were_objects_are_read_from_their_own_copies(
    locked: InProcessWire, state: str, script: Path
) -> None:
    old_release(state, "r1", script)
    assert read(locked, state, "r1", script) == b"export A=1\n"
    assert saving.objects(state) == set()
    copy = Path(f"{state}/releases/r1/files{script}")
    copy.write_bytes(b"rotten")
    with pytest.raises(PreflightError, match=f"{copy} is damaged"):
        locked.call("release_read", state=state, id="r1")


@pytest.mark.parametrize(
    ("call", "args"),
    [
        ("release_save", {"manifest": saving.MANIFEST, "files": []}),
        ("release_mend", {"id": "r1"}),
        ("release_remove", {"id": "r1"}),
        ("release_prune", {"keep": 1}),
        ("set_current", {"id": "r1"}),
    ],
)
def test_nothing_of_it_is_done_without_the_deploy_lock(
    locked: InProcessWire, state: str, script: Path, call: str, args: dict[str, Any]
) -> None:
    save(locked, state, [script], id="r1")
    locked.close()
    with pytest.raises(PreflightError, match=f"the lock of {state} is not held"):
        locked.call(call, state=state, **args)
