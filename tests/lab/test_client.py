"""The tools on the lab's PATH, from the outside."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from runbook.lab.control import encode
from runbook.lab.state import LabState, Paths
from runbook.lab.systemd.answer import Answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab.fixtures import Shell


def test_an_answer_on_the_wire_keeps_its_two_streams_apart() -> None:
    assert encode(Answer("ü\n", "no\n", 5)) == b"5 3\n\xc3\xbc\nno\n"


@pytest.mark.real
def test_the_tools_carry_output_errors_and_status(shell: Shell) -> None:
    done = shell.run("systemctl show -p LoadState,Id nope; systemctl start nope; echo $?")
    assert done.stdout == b"Id=nope.service\nLoadState=not-found\n5\n"
    assert done.stderr == b"Failed to start nope.service: Unit nope.service not found.\n"


@pytest.mark.real
def test_the_journal_of_a_unit_tells_its_start(shell: Shell) -> None:
    shown = shell.text("journalctl -u sglang-dsv4-decode -n 400 --since @0 --no-pager -o short-iso")
    assert " systemd[1]: Started sglang-dsv4-decode.service - DeepSeek-V4-Flash, decode.\n" in shown


@pytest.mark.real
def test_without_a_daemon_the_tools_say_so(lab: LabState, tmp_path: Path) -> None:
    tool = (
        (Paths(lab.root).bin / "systemctl")
        .read_text()
        .replace(str(Paths(lab.root).control), str(tmp_path / "no"))
    )
    (tmp_path / "systemctl").write_text(tool)
    done = subprocess.run(
        ["sh", tmp_path / "systemctl", "show", "a"], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr == "Failed to connect to the lab's unit manager: No such file or directory\n"
