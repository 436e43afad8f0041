"""Who runs this and from which revision: environment and git, as they are."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from runbook import __version__, provenance

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("environ", "want"),
    [
        ({}, None),
        ({"CI": "false"}, None),
        ({"CI": "true"}, {"system": "CI", "job": None, "url": None, "actor": None}),
        (
            {
                "CI": "true",
                "GITHUB_ACTIONS": "true",
                "GITHUB_WORKFLOW": "deploy",
                "GITHUB_JOB": "gpu1",
                "GITHUB_RUN_NUMBER": "7",
                "GITHUB_SERVER_URL": "https://github.example.net",
                "GITHUB_REPOSITORY": "a/b",
                "GITHUB_RUN_ID": "99",
                "GITHUB_ACTOR": "ann",
            },
            {
                "system": "GitHub Actions",
                "job": "deploy/gpu1 #7",
                "url": "https://github.example.net/a/b/actions/runs/99",
                "actor": "ann",
            },
        ),
        (
            {"GITLAB_CI": "true", "CI_JOB_NAME": "deploy {x}", "CI_JOB_ID": "5", "CI_JOB_URL": "https://x"},
            {"system": "GitLab CI", "job": "deploy {x} #5", "url": "https://x", "actor": None},
        ),
        (
            {
                "JENKINS_URL": "https://j",
                "JOB_NAME": "deploy",
                "BUILD_NUMBER": "3",
                "BUILD_URL": "https://j/3",
            },
            {"system": "Jenkins", "job": "deploy #3", "url": "https://j/3", "actor": None},
        ),
    ],
)
def test_a_ci_job_is_known_by_its_variables(
    environ: dict[str, str], want: dict[str, str | None] | None
) -> None:
    assert provenance.ci(environ) == want


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    (tmp_path / "hosts").mkdir()
    (tmp_path / "hosts" / "gpu1.yml").write_text("a\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "user.name", "Ann")
    git(tmp_path, "config", "user.email", "ann@example.net")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def git(directory: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(directory), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.real
def test_a_clean_checkout_tells_its_commit(checkout: Path) -> None:
    revision = git(checkout, "rev-parse", "HEAD")
    who, tool = provenance.near_end(checkout, "SHA256:x")
    assert tool == {"version": __version__, "revision": revision, "dirty": False}
    assert (who["git"], who["fingerprint"]) == ("Ann <ann@example.net>", "SHA256:x")


@pytest.mark.real
@pytest.mark.parametrize(
    ("file", "dirty"), [("hosts/gpu1.yml", True), ("hosts/gpu2.yml", True), ("notes", False)]
)
def test_a_changed_file_or_a_host_file_outside_of_git_makes_it_dirty(
    checkout: Path, file: str, dirty: bool
) -> None:
    (checkout / file).write_text("b\n")
    _, tool = provenance.near_end(checkout / "hosts" / "..", "")
    assert tool["dirty"] is dirty


@pytest.mark.real
def test_outside_of_a_checkout_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    _, tool = provenance.near_end(tmp_path, "")
    assert tool == {"version": __version__, "revision": None, "dirty": None}


@pytest.mark.real
def test_without_git_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    who, tool = provenance.near_end(tmp_path, "SHA256:x")
    assert (who["git"], who["fingerprint"], tool["revision"]) == (None, "SHA256:x", None)


@pytest.mark.parametrize(
    ("told", "want"),
    [
        ("user.name Ann Ä\nuser.email ann@example.net", "Ann Ä <ann@example.net>"),
        ("user.email ann@example.net", "<ann@example.net>"),
        ("user.name Ann", "Ann <>"),
        ("user.name", None),
        ("", None),
    ],
)
def test_git_knows_a_user_by_name_address_or_both(told: str, want: str | None) -> None:
    assert provenance.git_user(told) == want


def test_a_look_is_told_with_user_and_host_alone() -> None:
    assert provenance.operator().keys() == {"user", "host"}
