"""`./invoke` as a stranger may call it, on small checkouts whose program only says where it stands and what it was given."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from runbook import checkout

pytestmark = pytest.mark.real

HERE = Path(__file__).parents[1]
PROGRAM = """\
import json, os, sys
print(json.dumps({"at": os.getcwd(), "argv": sys.argv[1:], "called_from": os.environ["RUNBOOK_CALLED_FROM"]}))
"""


def laid(home: Path) -> Path:
    """A checkout whose lock is empty, so that nothing is fetched."""
    (home / "runbook").mkdir(parents=True)
    (home / "runbook" / "__init__.py").touch()
    (home / "runbook" / "__main__.py").write_text(PROGRAM)
    (home / "requirements.lock").write_text("# nothing is needed\n")
    shutil.copy(HERE / "invoke", home)
    shutil.copy(HERE / "runbook" / "checkout.py", home / "runbook")
    return home


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A checkout at a path with blanks, its environment there already."""
    home = laid(tmp_path / "a checkout")
    (home / ".venv" / "bin").mkdir(parents=True)
    (home / ".venv" / "bin" / "python").symlink_to(sys.executable)
    shutil.copy(home / "requirements.lock", home / ".venv" / ".made-from")
    return home


def run(*argv: str | Path, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in argv],
        cwd=cwd,
        env={**os.environ, "PYTHON": sys.executable, **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def said(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_arguments_arrive_as_they_were_given(made: Path) -> None:
    words = ["a b", "", "*", "$HOME", "--set", "A=x y"]
    assert said(run("./invoke", *words, cwd=made))["argv"] == words


def test_a_checkout_runs_from_its_own_directory_and_remembers_where_it_was_called(
    made: Path, tmp_path: Path
) -> None:
    found = said(run("a checkout/invoke", cwd=tmp_path))
    assert (found["at"], found["called_from"]) == (str(made), str(tmp_path))


def test_a_symlink_leads_to_the_checkout_behind_it(made: Path, tmp_path: Path) -> None:
    (tmp_path / "far").symlink_to(made / "invoke")
    (tmp_path / "near").symlink_to("far")
    assert said(run(tmp_path / "near", cwd=Path("/")))["at"] == str(made)


@pytest.mark.parametrize("cdpath", ["decoy", "."])
def test_a_cdpath_neither_leads_elsewhere_nor_speaks_on_stdout(
    made: Path, tmp_path: Path, cdpath: str
) -> None:
    (tmp_path / "decoy" / "a checkout").mkdir(parents=True)
    found = said(run("sh", "a checkout/invoke", cwd=tmp_path, CDPATH=str(tmp_path / cdpath)))
    assert found["at"] == str(made)


@pytest.mark.parametrize("name", ["PYTHONSAFEPATH", "PYTHONHOME"])
def test_a_variable_that_moves_pythons_home_or_path_does_not_lose_the_package(made: Path, name: str) -> None:
    assert said(run("./invoke", cwd=made, **{name: "1"}))["at"] == str(made)


def test_a_umask_that_shuts_us_out_is_opened_for_us_alone(made: Path) -> None:
    program = "import os; open('made-here', 'w').close(); print(oct(os.stat('made-here').st_mode & 0o777))"
    (made / "runbook" / "__main__.py").write_text(program)
    assert run("sh", "-c", "umask 0777; ./invoke", cwd=made).stdout == "0o600\n"


@pytest.fixture(scope="module")
def first_uses(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, list[subprocess.CompletedProcess[str]]]:
    """A checkout, and what came of its first two uses, both at once."""
    home = laid(tmp_path_factory.mktemp("fresh") / "a checkout")
    with ThreadPoolExecutor(2) as both:
        return home, list(both.map(lambda number: run("./invoke", str(number), cwd=home), range(2)))


@pytest.fixture
def used(first_uses: tuple[Path, Any], tmp_path: Path) -> Path:
    """A copy of that checkout, its environment complete."""
    return Path(shutil.copytree(first_uses[0], tmp_path / "used", symlinks=True))


def test_two_first_uses_at_once_both_work_and_one_of_them_makes_the_environment(
    first_uses: tuple[Path, list[subprocess.CompletedProcess[str]]],
) -> None:
    ended = first_uses[1]
    assert [said(one)["argv"] for one in ended] == [["0"], ["1"]]
    assert sum("making" in one.stderr for one in ended) == 1


def test_an_environment_that_is_there_is_used_as_it_is(used: Path) -> None:
    assert checkout.is_made(used)
    assert run("./invoke", cwd=used).stderr == ""


def test_an_environment_whose_python_is_gone_is_no_environment(used: Path) -> None:
    python = used / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    assert not checkout.is_made(used)


def test_an_environment_whose_making_was_cut_off_is_made_anew(used: Path) -> None:
    (used / ".venv" / "left half-way").touch()
    (used / ".venv" / ".made-from").unlink()
    (used / ".venv" / ".being-made").touch()
    assert run("./invoke", cwd=used).returncode == 0
    assert not (used / ".venv" / "left half-way").exists()
    assert checkout.is_made(used)


def test_a_lock_that_changed_goes_into_the_environment_that_is_there(used: Path) -> None:
    (used / ".venv" / "an extra of the developer's").touch()
    (used / "requirements.lock").write_text("# still nothing\n")
    assert "making" in run("./invoke", cwd=used).stderr
    assert (used / ".venv" / "an extra of the developer's").exists()
    assert checkout.is_made(used)


def test_what_cannot_be_installed_is_one_message_and_exit_2(used: Path) -> None:
    (used / ".venv" / ".made-from").unlink()
    (used / "requirements.lock").write_text("./no-such-package\n")
    done = run("./invoke", "--list", cwd=used)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install" in done.stderr.splitlines()[-1]
    assert not checkout.is_made(used)
