from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from runbook import extras
from runbook.errors import PreflightError
from runbook.extras import Extra
from runbook.lab import extras as lab
from runbook.lab.errors import LabError

if TYPE_CHECKING:
    from pathlib import Path

ABSENT = Extra("lab", "the lab", ("no-such-distribution",), "about 1 MB", LabError)


def test_the_router_is_needed_where_it_has_wheels() -> None:
    assert set(lab.needed("linux")) - set(lab.needed("darwin")) == {"sglang-router"}


def test_what_is_missing_is_found_without_importing_anything() -> None:
    before = set(sys.modules)
    assert extras.missing(["pytest", "no-such-distribution", "asyncssh"]) == ("no-such-distribution",)
    assert "no_such_distribution" not in set(sys.modules) - before


def test_with_everything_there_nothing_is_said_and_no_installer_runs(tmp_path: Path) -> None:
    said: list[str] = []
    lab.ensure(tmp_path / "absent.lock", said.append)
    assert said == []


def test_the_installer_checks_hashes_and_targets_the_running_interpreter(tmp_path: Path) -> None:
    lock = tmp_path / "requirements-lab.lock"
    lock.write_text("")
    command = extras.installer(ABSENT, lock)
    assert command[-3:] == ["--require-hashes", "-r", str(lock)]
    assert sys.executable in command


@pytest.mark.parametrize(
    ("extra", "error"), [(ABSENT, LabError), (Extra("report", "the report", ("x",), ""), PreflightError)]
)
def test_without_a_lock_the_error_says_what_to_type(
    tmp_path: Path, extra: Extra, error: type[PreflightError]
) -> None:
    with pytest.raises(error, match=rf"pip install 'runbook\[{extra.name}\]'"):
        extras.installer(extra, tmp_path / "absent.lock")


@pytest.mark.real
def test_an_installation_that_fails_shows_the_command_and_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "requirements-lab.lock"
    lock.write_text("no-such-distribution\n")
    monkeypatch.setattr(
        extras, "installer", lambda extra, lock: [sys.executable, "-c", "import sys; sys.exit('no luck')"]
    )
    said: list[str] = []
    with pytest.raises(LabError, match=r"ended with 1\nno luck"):
        extras.ensure(ABSENT, lock, said.append)
    assert said[0].startswith("the lab's extras are missing (no-such-distribution)")
