"""A release is what was on the disk, and it can be put back without Python and without us."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook.errors import MissingOnHostError, PreflightError
from runbook.observation import release
from runbook.onhost import releases
from tests.onhost.saving import save

if TYPE_CHECKING:
    from runbook.ssh import InProcessWire


def summary(wire: InProcessWire, state: str) -> dict[str, Any]:
    found: dict[str, Any] = wire.call("observe", state=state, files=[], units=[], names=[], patterns=[])
    return found["state"]  # type: ignore[no-any-return]


def test_it_keeps_bytes_modes_links_and_absences(
    locked: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    name = save(locked, state, files.values())
    found = locked.call("release_read", state=state, id=name)
    kept = {record["path"]: record for record in found["manifest"]["files"]}
    content = b"export A=1\n\xff"
    link = kept[str(files["link"])]
    assert (link["link"], link["mode"]) == ("real/decode.sh", 0o750)
    assert link["sha256"] == hashlib.sha256(content).hexdigest()
    assert base64.b64decode(found["files"][str(files["link"])]["b64"]) == content
    assert kept[str(files["absent"])]["sha256"] is None
    assert found["files"][str(files["absent"])] is None


def test_its_manifest_is_what_upper_layers_parse(
    locked: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    name = save(locked, state, files.values(), id="20260105T100000Z-abc", rollout="r1")
    parsed = [release(manifest) for manifest in summary(locked, state)["releases"]]
    assert [one.id for one in parsed] == [name]
    assert {record.path for record in parsed[0].files} == {str(path) for path in files.values()}


def test_nobody_else_can_look_in(locked: InProcessWire, state: str, files: dict[str, Path]) -> None:
    home = Path(state, "releases", save(locked, state, files.values()))
    for path in (home, *home.rglob("*")):
        assert path.lstat().st_mode & 0o077 == 0, path


def test_a_name_is_taken_once(locked: InProcessWire, state: str, files: dict[str, Path]) -> None:
    save(locked, state, files.values(), id="r1")
    with pytest.raises(PreflightError, match="there is a release r1 already"):
        save(locked, state, files.values(), id="r1")


def test_a_half_built_release_is_none_and_does_not_stop_the_next(
    locked: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    Path(state, "releases", "r1.new", "files").mkdir(parents=True)
    assert summary(locked, state)["releases"] == []
    assert save(locked, state, files.values(), id="r1") == "r1"


@pytest.mark.parametrize("name", ["../x", "", ".hidden", "a/b", "x" * 200])
def test_a_name_that_leads_elsewhere_is_refused(locked: InProcessWire, state: str, name: str) -> None:
    with pytest.raises(PreflightError, match="no name of a release"):
        locked.call("release_read", state=state, id=name)


def test_an_unknown_release_is_missing(locked: InProcessWire, state: str) -> None:
    with pytest.raises(MissingOnHostError, match="no release r9"):
        locked.call("set_current", state=state, id="r9")


def test_fields_are_merged_but_what_it_is_stays(
    locked: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    name = save(locked, state, files.values())
    locked.call("release_update", state=state, id=name, fields={"verdict": "proven", "bench": {"x": 1}})
    manifest = json.loads(Path(state, "releases", name, "manifest.json").read_text())
    assert (manifest["verdict"], manifest["bench"], manifest["parent"]) == ("proven", {"x": 1}, None)
    with pytest.raises(PreflightError, match="files of a release never change"):
        locked.call("release_update", state=state, id=name, fields={"files": []})


def test_current_moves_and_is_a_relative_link(
    locked: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    for name in ("r1", "r2"):
        save(locked, state, files.values(), id=name)
        locked.call("set_current", state=state, id=name)
    assert summary(locked, state)["current"] == "r2"
    assert str(Path(state, "current").readlink()) == "releases/r2"


def test_releases_are_told_oldest_first(locked: InProcessWire, state: str, files: dict[str, Path]) -> None:
    for name, created in (("b", "2026-01-02"), ("a", "2026-01-03"), ("c", "2026-01-01")):
        save(locked, state, files.values(), id=name, created=created)
    assert [manifest["id"] for manifest in summary(locked, state)["releases"]] == ["c", "b", "a"]


def test_one_may_be_removed_but_never_the_current(
    locked: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    for name in ("r1", "r2"):
        save(locked, state, files.values(), id=name)
    locked.call("set_current", state=state, id="r2")
    locked.call("release_remove", state=state, id="r1")
    with pytest.raises(PreflightError, match="is the current release"):
        locked.call("release_remove", state=state, id="r2")
    assert os.listdir(Path(state, "releases")) == ["r2"]  # noqa: PTH208 (names, in no order)


def test_what_is_in_flight_is_kept_until_it_is_settled(locked: InProcessWire, state: str) -> None:
    locked.call("inflight", state=state, doc={"step": "edit"})
    found = summary(locked, state)["inflight"]
    assert (found["step"], found["steps"]) == ("edit", [])
    locked.call("inflight", state=state, doc=None)
    assert summary(locked, state)["inflight"] is None


def test_without_a_state_there_is_nothing(writing: InProcessWire, state: str) -> None:
    assert summary(writing, state) == {
        "current": None,
        "releases": [],
        "damaged": [],
        "inflight": None,
        "lock": None,
        "beside": [],
        "audit_bytes": 0,
    }
    assert not Path(state).exists()


def test_a_file_that_cannot_be_read_is_not_saved(
    locked: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    with pytest.raises(PreflightError, match="cannot be saved"):
        save(locked, state, [*files.values(), files["link"].parent])
    assert summary(locked, state)["releases"] == []


def test_new_names_sort_by_time_and_are_nobody_elses() -> None:
    names = {releases.new_id() for _ in range(50)}
    assert len(names) == 50


def names(wire: InProcessWire, state: str) -> list[str]:
    return [one["id"] for one in summary(wire, state)["releases"]]


def test_a_copy_under_another_name_is_no_second_release(
    locked: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    save(locked, state, files.values(), id="r1")
    shutil.copytree(Path(state, "releases", "r1"), Path(state, "releases", "r1.bak"))
    assert names(locked, state) == ["r1"]
    assert summary(locked, state)["damaged"] == ["r1.bak"]


@pytest.mark.parametrize("left", ["r2.new", "r2.gone"])
def test_what_a_crash_left_is_no_release_and_goes_with_the_next_pruning(
    locked: InProcessWire, state: str, files: dict[str, Path], left: str
) -> None:
    save(locked, state, files.values(), id="r1")
    shutil.copytree(Path(state, "releases", "r1"), Path(state, "releases", left))
    assert names(locked, state) == ["r1"]
    assert summary(locked, state)["damaged"] == []
    locked.call("release_prune", state=state, keep=5)
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
        b'{"id": "r1", "created": "2026", "files": [{"path": "/x"}]}',
        b'{"id": "r1", "created": "2026", "files": [{"path": "/x", "sha256": []}]}',
        b'{"id": "r1", "created": "2026", "files": [{"path": 5, "sha256": null}]}',
        None,
    ],
)
def test_a_damaged_release_is_named_and_hides_no_other(
    locked: InProcessWire, state: str, files: dict[str, Path], manifest: bytes | None
) -> None:
    save(locked, state, files.values(), id="r1")
    save(locked, state, files.values(), id="r2")
    path = Path(state, "releases", "r1", "manifest.json")
    path.unlink()
    if manifest is None:
        path.mkdir()
    else:
        path.write_bytes(manifest)
    assert names(locked, state) == ["r2"]
    assert summary(locked, state)["damaged"] == ["r1"]
    with pytest.raises(MissingOnHostError, match=r"release r1 in .* is damaged"):
        locked.call("release_read", state=state, id="r1")
    with pytest.raises(MissingOnHostError, match=r"release r1 in .* is damaged"):
        locked.call("release_update", state=state, id="r1", fields={"verdict": "failed"})


@pytest.mark.parametrize("content", [b"[]", b"\xff", b"5"])
def test_what_is_no_book_of_a_rollout_counts_as_none(
    locked: InProcessWire, state: str, files: dict[str, Path], content: bytes
) -> None:
    save(locked, state, files.values(), id="r1")
    Path(state, "inflight.json").write_bytes(content)
    assert summary(locked, state)["inflight"] is None
