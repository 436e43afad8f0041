"""What the lab knows about itself: its paths, ports and user, chosen once and kept in `lab.json`."""

from __future__ import annotations

import json
import os
import pwd
import random
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from runbook.lab import hoststate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PORTS = ("prefill", "decode", "router", "bootstrap", "prometheus")
# SGLang's own habit, and what the host files of this service say.
USUAL = {"prefill": 30000, "decode": 30002, "router": 30001}
# Below the range that Linux and macOS give to outgoing connections, so that a port stays free while the lab is down.
_RANGE = range(20000, 30000)


class LabState(NamedTuple):
    """A lab that was laid. `pid` is its daemon's, 0 while it is down.

    `ports` maps prefill, decode and router to loopback ports; bootstrap and prometheus are nobody's business but theirs.
    """

    root: Path
    ssh_port: int
    ports: Mapping[str, int]
    user: str
    python: str
    pid: int = 0

    def variables(self) -> dict[str, Any]:
        """What `hosts/lab.yml` calls `lab`."""
        return {
            "root": str(self.root),
            "state": str(hoststate.of(self.root)),
            "ssh_port": self.ssh_port,
            "user": self.user,
            "python": self.python,
            "ports": dict(self.ports),
        }


class Paths(NamedTuple):
    """Where things are below the lab's root."""

    root: Path

    @property
    def state(self) -> Path:
        return self.root / "lab.json"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def laying(self) -> Path:
        """There while the before state is being laid: one cut off is laid again."""
        return self.root / "laying"

    @property
    def keys(self) -> Path:
        return self.root / "keys"

    @property
    def units(self) -> Path:
        return self.root / "units"

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def scripts(self) -> Path:
        return self.root / "host" / "root"

    @property
    def journal(self) -> Path:
        return self.root / "journal"

    @property
    def run(self) -> Path:
        """What belongs to one life of the daemon."""
        return self.root / "run"

    @property
    def ledger(self) -> Path:
        return self.run / "activations.json"

    @property
    def daemon(self) -> Path:
        return self.run / "daemon.json"

    @property
    def control(self) -> Path:
        """A file that names the control socket: its own path must be short, the lab's need not be."""
        return self.run / "control"

    @property
    def log(self) -> Path:
        return self.root / "daemon.log"


def user_name() -> str:
    """The user the lab runs as and lets in."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def fresh_state(root: Path, *, usual_ports: bool) -> LabState:
    """A state for a lab that was never laid: SGLang's usual ports where they are free and wanted."""
    wanted = USUAL if usual_ports else {}
    chosen = choose_ports((*PORTS, "ssh"), wanted)
    ssh_port = chosen.pop("ssh")
    return LabState(root, ssh_port, chosen, user_name(), sys.executable)


def choose_ports(names: Iterable[str], wanted: Mapping[str, int]) -> dict[str, int]:
    """A free loopback port a name, the wanted one where that is free; none twice."""
    chosen: dict[str, int] = {}
    for name in names:
        candidates = [wanted[name]] if name in wanted else []
        candidates += random.sample(_RANGE, 200)
        chosen[name] = next(port for port in candidates if port not in chosen.values() and is_free(port))
    return chosen


def is_free(port: int) -> bool:
    """Whether nobody listens on a loopback port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        except OSError:
            return False
    return True


def save(state: LabState) -> None:
    """Keep the state, atomically."""
    document = {"schema": 1, **state._asdict(), "root": str(state.root)}
    del document["pid"]
    fresh = Paths(state.root).state.with_suffix(".new")
    fresh.write_text(json.dumps(document, indent=2) + "\n")
    fresh.replace(Paths(state.root).state)


def load(root: Path) -> LabState | None:
    """The state kept in a lab's root; None where no lab was laid, or not to its end."""
    try:
        document = json.loads(Paths(root).state.read_text())
        return LabState(
            root=Path(document["root"]),
            ssh_port=int(document["ssh_port"]),
            ports={name: int(document["ports"][name]) for name in PORTS},
            user=str(document["user"]),
            python=str(document["python"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
