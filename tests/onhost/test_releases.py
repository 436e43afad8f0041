"""A release is what was on the disk, and it can be put back without Python and without us."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook.errors import MissingOnHostError, PreflightError
from runbook.observation import release
from runbook.onhost import releases, restore

if TYPE_CHECKING:
    from runbook.ssh import InProcessWire

MANIFEST = {"created": "2026-01-05T10:00:00+00:00", "parent": None, "verdict": "adopted"}
ODD = 'it\'s $HOME `x` "y" \\ -n ;'


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    root = tmp_path / "srv"
    (root / "real").mkdir(parents=True)
    (root / "real" / "decode.sh").write_bytes(b"export A=1\n\xff")
    (root / "real" / "decode.sh").chmod(0o750)
    (root / "decode.sh").symlink_to("real/decode.sh")
    (root / ODD).write_bytes(b"odd\n")
    return {"link": root / "decode.sh", "odd": root / ODD, "absent": root / "absent.conf"}


def save(wire: InProcessWire, state: str, files: dict[str, Path], **more: Any) -> str:
    names = [str(path) for path in files.values()]
    answer: dict[str, str] = wire.call(
        "release_save", state=state, manifest={**MANIFEST, **more}, files=names
    )
    return answer["id"]


def summary(wire: InProcessWire, state: str) -> dict[str, Any]:
    found: dict[str, Any] = wire.call("observe", state=state, files=[], units=[], names=[], patterns=[])
    return found["state"]  # type: ignore[no-any-return]


def test_it_keeps_bytes_modes_links_and_absences(
    writing: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    name = save(writing, state, files)
    found = writing.call("release_read", state=state, id=name)
    kept = {record["path"]: record for record in found["manifest"]["files"]}
    content = b"export A=1\n\xff"
    link = kept[str(files["link"])]
    assert (link["link"], link["mode"]) == ("real/decode.sh", 0o750)
    assert link["sha256"] == hashlib.sha256(content).hexdigest()
    assert base64.b64decode(found["files"][str(files["link"])]["b64"]) == content
    assert kept[str(files["absent"])]["sha256"] is None
    assert found["files"][str(files["absent"])] is None


def test_its_manifest_is_what_upper_layers_parse(
    writing: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    name = save(writing, state, files, id="20260105T100000Z-abc", rollout="r1")
    parsed = [release(manifest) for manifest in summary(writing, state)["releases"]]
    assert [one.id for one in parsed] == [name]
    assert {record.path for record in parsed[0].files} == {str(path) for path in files.values()}


def test_nobody_else_can_look_in(writing: InProcessWire, state: str, files: dict[str, Path]) -> None:
    home = Path(state, "releases", save(writing, state, files))
    for path in (home, *home.rglob("*")):
        assert path.lstat().st_mode & 0o077 == 0, path


def test_a_name_is_taken_once(writing: InProcessWire, state: str, files: dict[str, Path]) -> None:
    save(writing, state, files, id="r1")
    with pytest.raises(PreflightError, match="there is a release r1 already"):
        save(writing, state, files, id="r1")


def test_a_half_built_release_is_none_and_does_not_stop_the_next(
    writing: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    Path(state, "releases", "r1.new", "files").mkdir(parents=True)
    Path(state).chmod(0o700)
    Path(state).parent.chmod(0o700)
    assert summary(writing, state)["releases"] == []
    assert save(writing, state, files, id="r1") == "r1"


@pytest.mark.parametrize("name", ["../x", "", ".hidden", "a/b", "x" * 200])
def test_a_name_that_leads_elsewhere_is_refused(writing: InProcessWire, state: str, name: str) -> None:
    with pytest.raises(PreflightError, match="no name of a release"):
        writing.call("release_read", state=state, id=name)


def test_an_unknown_release_is_missing(writing: InProcessWire, state: str) -> None:
    with pytest.raises(MissingOnHostError, match="no release r9"):
        writing.call("set_current", state=state, id="r9")


def test_a_damaged_copy_is_said_not_given_out(
    writing: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    name = save(writing, state, files)
    Path(restore.saved(str(Path(state, "releases", name)), str(files["odd"]))).write_bytes(b"rotten")
    with pytest.raises(PreflightError, match="is damaged"):
        writing.call("release_read", state=state, id=name)


def test_fields_are_merged_but_what_it_is_stays(
    writing: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    name = save(writing, state, files)
    writing.call("release_update", state=state, id=name, fields={"verdict": "proven", "bench": {"x": 1}})
    manifest = json.loads(Path(state, "releases", name, "manifest.json").read_text())
    assert (manifest["verdict"], manifest["bench"], manifest["parent"]) == ("proven", {"x": 1}, None)
    with pytest.raises(PreflightError, match="files of a release never change"):
        writing.call("release_update", state=state, id=name, fields={"files": []})


def test_current_moves_and_is_a_relative_link(
    writing: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    for name in ("r1", "r2"):
        save(writing, state, files, id=name)
        writing.call("set_current", state=state, id=name)
    assert summary(writing, state)["current"] == "r2"
    assert str(Path(state, "current").readlink()) == "releases/r2"


def test_releases_are_told_oldest_first(writing: InProcessWire, state: str, files: dict[str, Path]) -> None:
    for name, created in (("b", "2026-01-02"), ("a", "2026-01-03"), ("c", "2026-01-01")):
        save(writing, state, files, id=name, created=created)
    assert [manifest["id"] for manifest in summary(writing, state)["releases"]] == ["c", "b", "a"]


def test_one_may_be_removed_but_never_the_current(
    writing: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    for name in ("r1", "r2"):
        save(writing, state, files, id=name)
    writing.call("set_current", state=state, id="r2")
    writing.call("release_remove", state=state, id="r1")
    with pytest.raises(PreflightError, match="is the current release"):
        writing.call("release_remove", state=state, id="r2")
    assert os.listdir(Path(state, "releases")) == ["r2"]  # noqa: PTH208 (names, in no order)


def test_what_is_in_flight_is_kept_until_it_is_settled(writing: InProcessWire, state: str) -> None:
    writing.call("inflight", state=state, doc={"step": "edit"})
    assert summary(writing, state)["inflight"] == {"step": "edit", "steps": []}
    writing.call("inflight", state=state, doc=None)
    assert summary(writing, state)["inflight"] is None


def test_without_a_state_there_is_nothing(writing: InProcessWire, state: str) -> None:
    assert summary(writing, state) == {
        "current": None,
        "releases": [],
        "damaged": [],
        "inflight": None,
        "lock": None,
    }
    assert not Path(state).exists()


def test_a_file_that_cannot_be_read_is_not_saved(
    writing: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    with pytest.raises(PreflightError, match="cannot be saved"):
        save(writing, state, {**files, "directory": files["link"].parent})
    assert summary(writing, state)["releases"] == []


def test_new_names_sort_by_time_and_are_nobody_elses() -> None:
    names = {releases.new_id() for _ in range(50)}
    assert len(names) == 50


# ------------------------------------------------------------------ restore.sh, the night nothing else is there


def restored(state: str, name: str, bare: Path) -> subprocess.CompletedProcess[str]:
    """Run restore.sh with a PATH of coreutils alone: no Python, nothing of ours."""
    bare.mkdir(exist_ok=True)
    for tool in ("sh", "dirname", "mkdir", "rm", "cp", "cat", "chown", "chmod", "mv", "ln", "sync"):
        if not (bare / tool).exists():
            (bare / tool).symlink_to(f"/bin/{tool}" if Path(f"/bin/{tool}").exists() else f"/usr/bin/{tool}")
    script = Path(state, "releases", name, "restore.sh")
    return subprocess.run(
        [str(script)], env={"PATH": str(bare)}, capture_output=True, text=True, check=True, cwd="/"
    )


@pytest.mark.real
def test_restore_sh_puts_everything_back(
    writing: InProcessWire, state: str, files: dict[str, Path], tmp_path: Path
) -> None:
    name = save(writing, state, files)
    files["link"].write_bytes(b"export A=2 and much longer than before\n")
    files["odd"].unlink()
    files["absent"].write_bytes(b"[Service]\n")
    real = files["link"].parent / "real" / "decode.sh"
    inode = real.stat().st_ino
    done = restored(state, name, tmp_path / "bare")
    assert files["link"].is_symlink()
    assert real.read_bytes() == b"export A=1\n\xff"
    assert real.stat().st_mode & 0o7777 == 0o750
    assert real.stat().st_ino != inode, "an open script must not change under its shell"
    assert files["odd"].read_bytes() == b"odd\n"
    assert not files["absent"].exists()
    assert done.stdout.count("\n") == 3


@pytest.mark.real
def test_restore_sh_makes_a_lost_link_again(
    writing: InProcessWire, state: str, files: dict[str, Path], tmp_path: Path
) -> None:
    name = save(writing, state, files)
    files["link"].unlink()
    (files["link"].parent / "real" / "decode.sh").unlink()
    (files["link"].parent / "real").rmdir()
    restored(state, name, tmp_path / "bare")
    assert str(files["link"].readlink()) == "real/decode.sh"
    assert files["link"].read_bytes() == b"export A=1\n\xff"


@pytest.mark.real
def test_restore_sh_run_twice_changes_nothing_more(
    writing: InProcessWire, state: str, files: dict[str, Path], tmp_path: Path
) -> None:
    name = save(writing, state, files)
    first = restored(state, name, tmp_path / "bare")
    assert restored(state, name, tmp_path / "bare").stdout == first.stdout
    assert sorted(path.name for path in files["odd"].parent.iterdir()) == sorted(["decode.sh", "real", ODD])


def names(wire: InProcessWire, state: str) -> list[str]:
    return [one["id"] for one in summary(wire, state)["releases"]]


def test_a_copy_under_another_name_is_no_second_release(
    writing: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    save(writing, state, files, id="r1")
    shutil.copytree(Path(state, "releases", "r1"), Path(state, "releases", "r1.bak"))
    assert names(writing, state) == ["r1"]
    assert summary(writing, state)["damaged"] == ["r1.bak"]


@pytest.mark.parametrize("left", ["r2.new", "r2.gone"])
def test_what_a_crash_left_is_no_release_and_goes_with_the_next_pruning(
    writing: InProcessWire, state: str, files: dict[str, Path], left: str
) -> None:
    save(writing, state, files, id="r1")
    shutil.copytree(Path(state, "releases", "r1"), Path(state, "releases", left))
    assert names(writing, state) == ["r1"]
    assert summary(writing, state)["damaged"] == []
    writing.call("release_prune", state=state, keep=5)
    assert [path.name for path in Path(state, "releases").iterdir()] == ["r1"]


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"id": "r1"}',
        b'{"id": 1, "created": "2026", "files": []}',
        b'{"id": "r1", "created": 5, "files": []}',
        b'{"id": "r1", "created": "2026", "files": null}',
        b'{"id": "r1", "created": "2026", "files": [{}]}',
        None,
    ],
)
def test_a_damaged_release_is_named_and_hides_no_other(
    writing: InProcessWire, state: str, files: dict[str, Path], manifest: bytes | None
) -> None:
    save(writing, state, files, id="r1")
    save(writing, state, files, id="r2")
    path = Path(state, "releases", "r1", "manifest.json")
    path.unlink()
    if manifest is None:
        path.mkdir()
    else:
        path.write_bytes(manifest)
    assert names(writing, state) == ["r2"]
    assert summary(writing, state)["damaged"] == ["r1"]
    with pytest.raises(MissingOnHostError, match=r"release r1 in .* is damaged"):
        writing.call("release_read", state=state, id="r1")
    with pytest.raises(MissingOnHostError, match=r"release r1 in .* is damaged"):
        writing.call("release_update", state=state, id="r1", fields={"verdict": "failed"})


@pytest.mark.parametrize("content", [b"[]", b"\xff", b"5"])
def test_what_is_no_book_of_a_rollout_counts_as_none(
    writing: InProcessWire, state: str, files: dict[str, Path], content: bytes
) -> None:
    save(writing, state, files, id="r1")
    Path(state, "inflight.json").write_bytes(content)
    assert summary(writing, state)["inflight"] is None
