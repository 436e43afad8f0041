"""The host that stands, written down for whoever asks about it or ends it."""

from __future__ import annotations

import json
import shlex
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.system.boot.owner import Owner
from tests.system.boot.records import Place

if TYPE_CHECKING:
    from tests.system.hosts import TestHost

ALIAS = "runbook-real"


@dataclass(frozen=True, slots=True)
class Standing:
    """A host that was left up. `keeper` is the process that holds it; `ssh` the command line that logs in as root, `alias` the
    lines of ~/.ssh/config by which ALIAS does.
    """

    keeper: Owner
    place: Place
    address: str
    ssh: str
    host_file: str
    alias: str = ""

    @property
    def answers(self) -> bool:
        """Its keeper lives and its sshd greets."""
        return self.keeper.alive and _greets(self.address)

    def to_json(self) -> dict[str, Any]:
        """As `lab.status --json` prints it."""
        return {
            "address": self.address,
            "ssh": self.ssh,
            "alias": self.alias,
            "host_file": self.host_file,
            "pid": self.keeper.pid,
        }


def of(host: TestHost, place: Place, keeper: Owner, host_file: Path) -> Standing:
    return Standing(keeper, place, host.address, shlex.join(host.ssh()), str(host_file), _alias(host))


def _alias(host: TestHost) -> str:
    """OpenSSH's configuration for the host: its key and its host key are not where OpenSSH looks."""
    lines = (
        f"Host {ALIAS}",
        f"HostName {host.address}",
        "User root",
        f'IdentityFile "{host.key}"',
        f'UserKnownHostsFile "{host.known_hosts}"',
        "IdentitiesOnly yes",
    )
    return "\n  ".join(lines)


@dataclass(frozen=True, slots=True)
class Kept:
    """The directory in which a checkout keeps what it knows of its host."""

    root: Path

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def log(self) -> Path:
        return self.root / "keeper.log"

    @property
    def _file(self) -> Path:
        return self.root / "standing.json"

    def save(self, standing: Standing) -> None:
        """Keep it, atomically."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(standing), default=str))
        fresh.replace(self._file)

    def load(self) -> Standing | None:
        """The host that was left up last, be it up or not; None where there is none."""
        try:
            kept = json.loads(self._file.read_text())
            directory = Path(kept.pop("place")["directory"])
            return Standing(Owner(**kept.pop("keeper")), Place(directory, int(directory.name)), **kept)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)


def _greets(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), timeout=3.0) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False
