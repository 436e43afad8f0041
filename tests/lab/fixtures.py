"""The embedded lab as a fixture: up once a session, on ports of its own; and SSH to it as a person has it.

`pytest_plugins = ["tests.lab.fixtures"]` or an import brings them elsewhere. Tests that use them are marked `real`.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from runbook import lab as embedded
from runbook.lab import state
from runbook.lab.state import LabState, Paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


SLEEPER = """[Service]
ExecStart=/bin/sh -c 'setsid sleep 1000 & exec sleep 1000'
[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True, slots=True)
class Shell:
    """OpenSSH's own client, logged in to a lab."""

    lab: LabState

    def argv(self, *options: str) -> list[str]:
        keys = Paths(self.lab.root).keys
        return [
            *(
                "ssh",
                "-F",
                "/dev/null",
                "-o",
                "BatchMode=yes",
                "-o",
                "IdentitiesOnly=yes",
                "-o",
                "LogLevel=ERROR",
            ),
            *("-o", f"UserKnownHostsFile={keys / 'known_hosts'}", "-i", str(keys / "client_ed25519")),
            *("-p", str(self.lab.ssh_port), *options, f"{self.lab.user}@127.0.0.1"),
        ]

    def run(self, command: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*self.argv(), command], input=stdin, capture_output=True, timeout=60, check=False
        )

    def text(self, command: str) -> str:
        """What a command that must succeed prints."""
        done = self.run(command)
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        return done.stdout.decode()

    def properties(self, unit: str, names: str) -> dict[str, str]:
        """Properties of a unit, as `systemctl show` tells them."""
        lines = self.text(f"systemctl show --no-pager --property={names} {unit}").splitlines()
        return dict(line.split("=", 1) for line in lines)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabState]:
    """The lab in its before state, or as the tests before left it; never on ports 30000 to 30002."""
    if shutil.which("ssh") is None:
        pytest.skip("needs OpenSSH's client")
    root = tmp_path_factory.mktemp("lab")
    said: list[str] = []
    state = embedded.up(root, say=said.append, usual_ports=False)
    assert said == [f"laid the before state in {root}"]
    yield state
    embedded.down(root)


@pytest.fixture
def fresh_lab(lab: LabState) -> LabState:
    """The lab with the before state laid anew; costs a restart of everything, a few seconds."""
    return embedded.up(lab.root, say=lambda line: None, reset=True)


@pytest.fixture(scope="session")
def shell(lab: LabState) -> Shell:
    return Shell(lab)


@pytest.fixture
def small_lab(tmp_path: Path) -> LabState:
    """A lab with one unit of two sleeping processes, laid but not started: fast, and no model in it."""
    from runbook.lab.keys import ensure_keys

    lab = state.fresh_state(tmp_path, usual_ports=False)
    ensure_keys(Paths(tmp_path).keys, lab.ssh_port)
    for directory in (Paths(tmp_path).units, Paths(tmp_path).scripts):
        directory.mkdir(parents=True)
    (Paths(tmp_path).units / "sleeper.service").write_text(SLEEPER)
    state.save(lab)
    return lab
