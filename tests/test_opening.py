"""What goes on beside the host's start: nothing of it outlasts a run that ended early."""

from __future__ import annotations

import getpass
import io
import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pytest

from runbook import opening, ssh
from runbook.errors import PreflightError
from runbook.events import Run
from runbook.interrupt import Interrupt
from runbook.request import Request
from runbook.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOST = """
ssh: {address: gpu1.example.net}
model: m
units:
  decode: {unit: decode.service, script: /root/serve.sh, url: "http://127.0.0.1:30001"}
"""


@dataclass
class NoPython:
    """A link to a host on which no helper starts."""

    fingerprint: str = "SHA256:x"

    def open_wire(self, mode: str, **options: Any) -> Any:
        raise PreflightError("no Python there")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None: ...


@pytest.fixture
def _git_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A git that answers when the test is over."""
    gate, git = tmp_path / "gate", tmp_path / "bin" / "git"
    os.mkfifo(gate)
    git.parent.mkdir()
    git.write_text(f"#!/bin/sh\nread line < {gate}\n", encoding="utf-8")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{git.parent}{os.pathsep}{os.environ['PATH']}")
    before = set(threading.enumerate())
    with gate.open("r+b", buffering=0) as opened:
        yield
        opened.write(b"\n" * 20)  # a line for each time it is asked
        for thread in set(threading.enumerate()) - before:
            thread.join()


def asked(tmp_path: Path) -> Request:
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    (hosts / "gpu1.yml").write_text(HOST, encoding="utf-8")
    return Request("deploy", hosts=("gpu1",), directory=tmp_path, yes=True)


@pytest.mark.real
@pytest.mark.usefixtures("_git_hangs")
def test_no_end_of_the_program_waits_for_a_git_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "connect", lambda *target, **options: NoPython())
    request = asked(tmp_path)
    before = set(threading.enumerate())
    with (
        pytest.raises(PreflightError, match="no Python"),
        opening.work(request, "gpu1", Run([]), "r1", Interrupt(), View(io.StringIO(), silent=True)),
    ):
        raise AssertionError("nothing was opened")
    assert [thread.daemon for thread in set(threading.enumerate()) - before] in ([True], [True, True])


def test_what_fails_beside_is_told_where_its_value_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a user id that has no name."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_001)
    value = opening._beside(getpass.getuser)
    with pytest.raises((KeyError, OSError)):
        value()
