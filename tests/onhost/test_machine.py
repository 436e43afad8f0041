"""What a host says of itself for the audit: GPUs, and the revision of a checkout."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from runbook.errors import PreflightError
from runbook.onhost.machine import revision
from tests.sshd import script

if TYPE_CHECKING:
    from pathlib import Path

    from runbook.ssh import InProcessWire

pytestmark = pytest.mark.real


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "it's here"
    path.mkdir()
    (path / "a.py").write_text("1\n")
    git(path, "init", "-q")
    git(path, "add", ".")
    git(path, "-c", "user.name=a", "-c", "user.email=a@example.net", "commit", "-q", "-m", "first")
    return path


def git(path: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(path), *words], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_clean_checkout_is_told_by_its_commit(writing: InProcessWire, checkout: Path) -> None:
    told = writing.call("machine", checkout=str(checkout))
    commit = git(checkout, "rev-parse", "HEAD")
    assert told["checkout"] == {"path": str(checkout), "revision": commit, "dirty": False, "error": None}
    assert told["kernel"].startswith("Linux")


@pytest.mark.parametrize(("file", "dirty"), [("a.py", True), ("notes", False)])
def test_only_a_tracked_file_makes_it_dirty(checkout: Path, file: str, dirty: bool) -> None:
    (checkout / file).write_text("2\n")
    assert revision(str(checkout))["dirty"] is dirty


def test_a_look_runs_nothing_that_the_checkout_names(checkout: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    git(checkout, "config", "core.fsmonitor", str(script(tmp_path / "monitor", f"touch {ran}\n")))
    assert revision(str(checkout))["error"] is None
    assert not ran.exists()


@pytest.mark.parametrize("there", [True, False])
def test_what_is_no_checkout_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    path = tmp_path / "plain"
    if there:
        path.mkdir()
    told = revision(str(path))
    assert (told["revision"], told["dirty"]) == (None, None)
    assert str(path) in told["error"] or "not a git repository" in told["error"]


def test_a_host_without_git_and_gpus_says_so(
    writing: InProcessWire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    told = writing.call("machine", checkout=str(tmp_path))
    assert told["gpus"] == []
    assert "git" in told["checkout"]["error"]


def test_gpus_are_told_with_their_driver(
    writing: InProcessWire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(
        tmp_path / "nvidia-smi", 'case "$1" in *gpu=*) echo "0, NVIDIA H200, 570.86, 100, 143771, 0";; esac\n'
    )
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    (gpu,) = writing.call("machine")["gpus"]
    assert gpu == {"index": 0, "name": "NVIDIA H200", "driver": "570.86", "memory_total_mib": 143771}


def test_a_relative_path_is_refused(writing: InProcessWire) -> None:
    with pytest.raises(PreflightError, match="absolute path"):
        writing.call("machine", checkout="sglang")
