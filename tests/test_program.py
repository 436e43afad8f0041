"""The command line as a process: what a shell hands it, what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runbook import __version__

pytestmark = pytest.mark.real

HERE = Path(__file__).parents[1]
COMMAND = f"{sys.executable} -m runbook.program"


def shell(line: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A line for sh with `invoke` in it, run in the checkout."""
    return subprocess.run(
        ["sh", "-c", line.replace("invoke", COMMAND)],
        cwd=HERE,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("invoke nosuch", "No idea what 'nosuch' is"),
        ("invoke depoly", "No idea what 'depoly' is; did you mean deploy?"),
        ("invoke adopt", "did you mean hosts.adopt?"),
        ("invoke deploy --hots gpu1", "did you mean --host?"),
        ("invoke audit.show --id", "--id needs a value"),
        ("invoke audit.show -v gpu1", "a host is named by --host gpu1"),
        ("invoke status gpu1", "a host is named by --host gpu1"),
        ("invoke --help nosuch", "No idea what 'nosuch' is"),
        ("invoke --list nosuch", "'nosuch' not found"),
        ("invoke plan --nosuch", "No idea what '--nosuch' is"),
        ("invoke plan --host", "--host needs a value"),
        ("invoke deploy --host $UNSET --yes", "--host needs a value"),
        ("invoke deploy --host lab --set A=1 --set --yes", "--set needs a value"),
        ("invoke plan --unset --file x", "--unset needs a value"),
        ('invoke rollback --to "$UNSET" --yes', "--to needs a value"),
        ('invoke plan --file="$UNSET" --set A=1', "--file needs a value"),
        ('invoke deploy --host lab --host "$UNSET" --yes', "--host needs a value"),
        ("invoke logs --lines many", "a whole number is wanted, found 'many'"),
        ("invoke plan deploy --yes", "one task at a time, found plan, deploy"),
    ],
)
def test_a_command_line_that_makes_no_sense_ends_in_2_and_a_reason(line: str, reason: str) -> None:
    plain, asked_for_json = shell(line), shell(f"{line} --json")
    assert (plain.returncode, plain.stdout) == (2, "")
    assert reason in plain.stderr
    assert "Traceback" not in plain.stderr
    assert asked_for_json.returncode == 2
    assert json.loads(asked_for_json.stdout)["exit_code"] == 2


def test_a_bare_command_lists_the_tasks() -> None:
    bare = shell("invoke")
    assert (bare.returncode, bare.stdout) == (0, shell("invoke --list").stdout)


@pytest.mark.parametrize("words", ["audit.show -v 20010101", "report --format markdown 20010101T00"])
def test_an_id_is_understood_behind_options_too(tmp_path: Path, words: str) -> None:
    done = shell(f"cd {tmp_path} && invoke {words}", PYTHONPATH=str(HERE))
    assert (done.returncode, done.stderr) == (2, "")
    assert "no audit record here" in done.stdout


@pytest.mark.parametrize("damaged", ["{a: [", "- run\n- tasks\n", "just words\n"])
def test_a_damaged_configuration_of_invoke_is_no_traceback(tmp_path: Path, damaged: str) -> None:
    (tmp_path / ".invoke.yaml").write_text(damaged)
    done = shell("invoke hosts.list", HOME=str(tmp_path))
    assert done.returncode == 2
    assert ".invoke.yaml" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_tasks_are_runbooks_own_whatever_lies_in_the_directory(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("raise SystemExit('somebody else wrote this')\n")
    done = shell(f"cd {tmp_path} && invoke hosts.list --json", PYTHONPATH=str(HERE))
    assert (done.returncode, json.loads(done.stdout)) == (0, ["lab"])


def test_a_directory_that_was_removed_is_said(tmp_path: Path) -> None:
    gone = f"mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir ../gone"
    done = shell(f"{gone} && invoke hosts.list", PYTHONPATH=str(HERE))
    assert (done.returncode, done.stdout) == (2, "")
    assert "the directory you are in was removed" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_collection_that_is_not_there_is_a_refusal() -> None:
    done = shell("invoke -c nosuch plan")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nosuch" in done.stderr


def test_a_relative_file_is_one_of_the_directory_the_wrapper_was_called_in(tmp_path: Path) -> None:
    (tmp_path / "serve.sh").write_text("export A=1\n")
    done = shell("invoke plan --file serve.sh --set A=2 --json", RUNBOOK_CALLED_FROM=str(tmp_path))
    assert done.returncode == 0
    assert json.loads(done.stdout)["plan"]["changes"][0]["path"] == str(tmp_path / "serve.sh")


def test_a_file_that_is_nowhere_is_named_as_it_was_given(tmp_path: Path) -> None:
    done = shell("invoke plan --file none.sh --set A=2 --json", RUNBOOK_CALLED_FROM=str(tmp_path))
    assert json.loads(done.stdout)["error"] == "none.sh: No such file or directory"


@pytest.mark.parametrize(("closed", "code"), [(">&-", 141), ("2>&-", 0), ("<&-", 0), ("<&- >&- 2>&-", 141)])
def test_of_closed_standard_streams_only_that_of_the_output_makes_a_run_that_was_well_141(
    closed: str, code: int
) -> None:
    assert shell(f"invoke hosts.list {closed}").returncode == code
    assert shell(f"invoke plan --host nosuch --json {closed}").returncode == 2


@pytest.mark.parametrize("where", ["hosts.list", "hosts.list --json", "--list"])
def test_output_that_cannot_be_written_ends_in_141_without_a_traceback(where: str) -> None:
    done = shell(f"invoke {where} >/dev/full")
    assert done.returncode == 141
    assert done.stderr == "invoke: not all of the output could be written: No space left on device\n"


def test_a_reader_that_left_is_told_nothing_and_a_failure_keeps_its_own_code() -> None:
    left = "{ invoke %s; echo $? >&2; } | true"
    assert shell(left % "--list").stderr == "141\n"
    assert shell(left % "plan --host nosuch").stderr == "2\n"


def test_a_terminal_without_the_character_is_shown_an_escape() -> None:
    done = shell("invoke plan --host ü", PYTHONIOENCODING="ascii", LC_ALL="C.UTF-8")
    assert done.returncode == 2
    assert r"no host named '\xfc'" in done.stdout


@pytest.mark.parametrize("command", [COMMAND, f"{sys.executable} -m runbook"])
def test_ctrl_c_before_any_task_is_at_work_ends_in_130_and_one_line(command: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    ended = shell(f"{command} --search-root {tmp_path} status")
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")


def test_ctrl_c_while_runbook_is_imported_does_too(tmp_path: Path) -> None:
    (tmp_path / "invoke.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    ended = shell(f"{sys.executable} -m runbook status", PYTHONPATH=f"{tmp_path}{os.pathsep}{HERE}")
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")


def test_the_version_is_told_under_the_name_that_is_installed() -> None:
    ended = shell(f"{sys.executable} -m runbook --version")
    assert (ended.returncode, ended.stdout.strip()) == (0, f"runbook {__version__}")
