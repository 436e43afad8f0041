"""The installed command in a directory of its caller's: nothing of a checkout is there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compatibility import installed, interpreters
from tests.compatibility.installed import CHECKOUT, Installed

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.real

SCRIPT = "#!/bin/bash\nexport A=1\nexec python -m sglang.launch_server\n"
HOST = "profile: sglang-dsv4-pd\nssh: gpu1.example.net\n"
CONTROLLERS = ("3.11", "3.12", "3.13")
# Rooms whose tests are quick and reach nothing, and what pytest needs to run them.
ROOMS = ("inventory", "ledger", "onhost", "places", "probes", "stages", "tunnel")
TESTING = ("hypothesis", "iniconfig", "packaging", "pluggy", "pygments", "pytest", "sortedcontainers")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "of the operator's"
    made.mkdir()
    return made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    installed.lay(place)
    return place


@pytest.fixture
def command(site: Path, directory: Path) -> Installed:
    return Installed(installed.PROGRAM, directory, {"PYTHONPATH": str(site)})


def its_tasks_are_listed(command: Installed) -> None:
    listed = command.run("--list")
    tasks = set(re.findall(r"^  ([a-z.]+)", listed.stdout, re.MULTILINE))
    assert {"deploy", "rollback", "lab.up", "hosts.check"} <= tasks
    assert not {"check", "test"} & tasks, "they are of a checkout"
    assert command.run("deploy --help").stdout.startswith("Usage: runbook ")


def an_empty_directory_has_the_lab_and_is_told_of_the_manual(command: Installed) -> None:
    assert json.loads(command.run("hosts.list --json").stdout) == ["lab"]
    checked = command.run("hosts.check")
    assert checked.returncode == 0
    manual = re.search(r"no host files in .* but the lab's; (.*) is the manual", checked.stdout)
    assert manual is not None
    assert "ssh:" in Path(manual[1]).read_text()


def a_host_file_stands_on_a_profile_that_came_along(command: Installed) -> None:
    (command.directory / "hosts").mkdir()
    (command.directory / "hosts" / "gpu1.yml").write_text(HOST)
    checked = command.run("hosts.check --json")
    assert (checked.returncode, json.loads(checked.stdout)["host"]) == (0, "gpu1")


def nothing_that_lies_in_the_directory_is_run(command: Installed) -> None:
    for name in ("tasks.py", "invoke.py", "runbook.py"):
        (command.directory / name).write_text("raise SystemExit('anybody may have written this')\n")
    assert command.run("hosts.list").returncode == 0
    for name in ("tasks.py", "invoke.py", "runbook.py"):
        (command.directory / name).unlink()


def an_edit_is_previewed(command: Installed) -> None:
    (command.directory / "serve.sh").write_text(SCRIPT)
    shown = command.run("plan --file serve.sh --set A=2")
    assert shown.returncode == 0
    assert "-export A=1\n+export A=2\n" in shown.stdout
    assert (command.directory / "serve.sh").read_text() == SCRIPT


def a_host_that_is_not_there_is_one_message(command: Installed) -> None:
    refused = command.run("verify --host nosuch --json")
    assert refused.returncode == 2
    assert json.loads(refused.stdout)["error"].startswith("no host named 'nosuch'; known hosts: lab")
    assert refused.stderr == ""


EXPECTED = (
    its_tasks_are_listed,
    an_empty_directory_has_the_lab_and_is_told_of_the_manual,
    nothing_that_lies_in_the_directory_is_run,
    an_edit_is_previewed,
    a_host_that_is_not_there_is_one_message,
    a_host_file_stands_on_a_profile_that_came_along,
)


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda one: one.__name__)
def test_laid_as_the_wheel_lays_it(command: Installed, expected: Callable[[Installed], None]) -> None:
    expected(command)


def test_the_lab_is_laid_from_the_templates_that_came_along(site: Path, directory: Path) -> None:
    code = "from runbook.edits import template; print(template.render('serve_dsv4_decode.sh.j2', {}))"
    rendered = Installed((installed.PROGRAM[0], "-c", code), directory, {"PYTHONPATH": str(site)})
    assert "the template needs a name it was not given" in rendered.run("").stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed.built(tmp_path_factory.mktemp("wheel"))


@pytest.mark.heavy
@pytest.mark.parametrize("version", CONTROLLERS)
def test_the_wheel_runs_and_the_tests_pass_on_every_python_it_says_it_runs_on(
    version: str, wheel: Path, directory: Path, tmp_path: Path
) -> None:
    python = interpreters.needed(version)
    command = installed.from_wheel(wheel, python, tmp_path / "venv", directory)
    for expected in EXPECTED:
        expected(command)
    installed.run_tests(command, ROOMS, TESTING, tmp_path / "testing.lock")


def test_the_versions_tried_are_those_it_says_it_runs_on() -> None:
    assert f'requires-python = ">={CONTROLLERS[0]}"' in (CHECKOUT / "pyproject.toml").read_text()
