"""State lives only where nobody else can write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runbook.onhost import state
from runbook.onhost.calls import Refusal


def test_it_is_made_private_with_its_parents(tmp_path: Path) -> None:
    path = state.ensure(str(tmp_path / "var" / "svc"))
    assert Path(path).stat().st_mode & 0o7777 == 0o700


def test_making_it_twice_is_fine(tmp_path: Path) -> None:
    assert state.ensure(str(tmp_path / "svc")) == state.ensure(str(tmp_path / "svc"))


def refused(path: Path) -> str:
    with pytest.raises(Refusal) as caught:
        state.ensure(str(path))
    assert caught.value.kind == "invalid"
    return caught.value.message


def test_a_symlink_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "svc").symlink_to("real")
    assert "is a symlink" in refused(tmp_path / "svc")


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "svc").write_text("")
    assert "is not a directory" in refused(tmp_path / "svc")


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_one_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "svc").mkdir()
    (tmp_path / "svc").chmod(mode)
    assert f"is writable by others (mode {mode:04o})" in refused(tmp_path / "svc")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")
def test_one_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "svc").mkdir(mode=0o700)
    os.chown(tmp_path / "svc", 12345, 12345)
    assert "belongs to uid 12345" in refused(tmp_path / "svc")


def test_one_that_others_could_replace_is_refused_and_named(tmp_path: Path) -> None:
    (tmp_path / "open" / "svc").mkdir(parents=True, mode=0o700)
    (tmp_path / "open").chmod(0o777)
    said = refused(tmp_path / "open" / "svc")
    assert said.startswith(f"{tmp_path}/open/svc: stands below {tmp_path}/open, which everybody can write")
    assert said.endswith("; set state_dir to a place that nobody else can write or replace")


def test_nothing_is_made_where_others_could_replace_it(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    refused(tmp_path / "open" / "new" / "svc")
    assert [*(tmp_path / "open").iterdir()] == []
    with pytest.raises(Refusal, match="stands below"):
        state.exists(str(tmp_path / "open" / "new" / "svc"))  # a plan says so too


def test_a_state_directory_may_be_led_to_by_a_symlink_of_ours(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "kept").symlink_to("disk")
    assert state.ensure(str(tmp_path / "kept" / "svc"))
    assert (tmp_path / "disk" / "svc").is_dir()


@pytest.mark.parametrize("path", ["svc", "/tmp/../etc", "/a/./b", "~/svc", "/a\0b"])
def test_only_a_plain_absolute_path_is_taken(path: str) -> None:
    with pytest.raises(Refusal):
        state.exists(path)


def test_a_document_is_read_back_and_half_a_one_is_none(tmp_path: Path) -> None:
    path = tmp_path / "inflight.json"
    state.write_json(str(path), {"step": "edit"})
    assert state.read_json(str(path)) == {"step": "edit"}
    assert path.stat().st_mode & 0o7777 == 0o600
    path.write_text('{"step": ')
    assert state.read_json(str(path)) is None
    state.remove(str(path))
    state.remove(str(path))
    assert state.read_json(str(path)) is None


def test_what_a_crash_left_half_written_does_not_stop_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "starts.json"
    (tmp_path / "starts.json.new").write_text("{")
    state.write_json(str(path), {})
    assert [entry.name for entry in tmp_path.iterdir()] == ["starts.json"]
