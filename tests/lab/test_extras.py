from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from runbook.lab import extras
from runbook.lab.errors import LabError

if TYPE_CHECKING:
    from pathlib import Path


def test_the_router_is_needed_where_it_has_wheels() -> None:
    assert set(extras.needed("linux")) - set(extras.needed("darwin")) == {"sglang-router"}


def test_what_is_missing_is_found_without_importing_anything() -> None:
    before = set(sys.modules)
    assert extras.missing(["pytest", "no-such-distribution", "asyncssh"]) == ("no-such-distribution",)
    assert "no_such_distribution" not in set(sys.modules) - before


def test_with_everything_there_nothing_is_said_and_no_installer_runs(tmp_path: Path) -> None:
    said: list[str] = []
    extras.ensure(tmp_path / "absent.lock", said.append)
    assert said == []


def test_the_installer_checks_hashes_and_targets_the_running_interpreter(tmp_path: Path) -> None:
    lock = tmp_path / "requirements-lab.lock"
    lock.write_text("")
    command = extras.installer(lock)
    assert command[-3:] == ["--require-hashes", "-r", str(lock)]
    assert sys.executable in command


def test_without_a_lock_the_error_says_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"pip install 'runbook\[lab\]'"):
        extras.installer(tmp_path / "absent.lock")


@pytest.mark.real
def test_an_installation_that_fails_shows_the_command_and_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "requirements-lab.lock"
    lock.write_text("no-such-distribution\n")
    monkeypatch.setattr(extras, "needed", lambda: ("no-such-distribution",))
    monkeypatch.setattr(
        extras, "installer", lambda lock: [sys.executable, "-c", "import sys; sys.exit('no luck')"]
    )
    said: list[str] = []
    with pytest.raises(LabError, match=r"ended with 1\nno luck"):
        extras.ensure(lock, said.append)
    assert said[0].startswith("the lab's extras are missing (no-such-distribution)")
