"""What an action pays for before the host answers: nothing heavy is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from runbook import pages

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = ["rich", "httpx", "pydantic", "jinja2", "tenacity", "matplotlib", "asyncssh", "aiohttp", "scipy"]


def loaded(imports: str) -> set[str]:
    """The modules a fresh interpreter has after these imports."""
    code = f"import {imports}, sys; print(*sys.modules)"
    return set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )


@pytest.mark.real
def test_the_list_of_tasks_needs_no_room_of_ours() -> None:
    rooms = {name for name in loaded("runbook.program, tasks") if name.startswith("runbook.")}
    assert rooms == {"runbook.program", "runbook.lean", "runbook.shipped", "runbook.streams"}


@pytest.mark.real
def test_a_plan_logs_in_before_it_knows_how_to_edit_or_judge() -> None:
    modules = loaded("runbook.command_line, runbook.ssh.link")
    assert not modules & set(HEAVY)
    later = (
        "edits",
        "audit",
        "ledger",
        "lab",
        "looking",
        "rollout",
        "stages",
        "verify",
        "validations",
        "probes",
    )
    assert not [name for name in modules if name.startswith(tuple(f"runbook.{room}" for room in later))]


@pytest.mark.real
def test_a_plan_loads_nothing_that_only_a_deploy_needs() -> None:
    modules = loaded("runbook.looking")
    assert not modules & set(HEAVY)
    others = (
        "edits",
        "planning",
        "audit",
        "ledger",
        "rollout",
        "verify",
        "validations",
        "probes",
        "stages.before",
        "tunnel",
    )
    assert not [name for name in modules if name.startswith(tuple(f"runbook.{room}" for room in others))]


@pytest.mark.real
@pytest.mark.parametrize(("action", "asks"), [("deploy", True), ("status", False)])
def test_what_a_page_comes_to_later_is_imported_while_the_host_is_waited_for(action: str, asks: bool) -> None:
    code = f"import sys; from runbook import pages; pages.import_ahead({action!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert {"runbook.ending", f"runbook.{pages.PAGES[action][0]}"} <= modules
    assert ({"httpx", "tenacity"} <= modules) == asks


@pytest.mark.real
@pytest.mark.parametrize("broken", ["raise ImportError('none here')", "def ("])
def test_what_cannot_be_imported_ahead_is_left_to_who_needs_it(tmp_path: Path, broken: str) -> None:
    (tmp_path / "httpx.py").write_text(broken, encoding="utf-8")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
        "from runbook import pages; pages.import_ahead('deploy'); print('tenacity' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")
