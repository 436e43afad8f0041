"""The daemon's process as its starter sees it: started, recorded, answering."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from typing import IO, TYPE_CHECKING

from runbook.lab.errors import LabError
from runbook.lab.layout import package_home
from runbook.lab.processes import Identity
from runbook.lab.state import LabState, Paths

if TYPE_CHECKING:
    from pathlib import Path

_START_S = 60.0
_LOG_BYTES = 1024 * 1024


def recorded(root: Path) -> Identity | None:
    """The process that last said it is the daemon of this lab; it need not be alive."""
    try:
        document = json.loads(Paths(root).daemon.read_text())
        return Identity(int(document["pid"]), str(document["started"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def answers(lab: LabState, timeout_s: float = 15.0) -> bool:
    """Whether the lab's SSH server greets; a daemon that is stopped or stuck does not."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", lab.ssh_port), timeout_s) as link,
    ):
        return link.recv(4) == b"SSH-"
    return False


def start_daemon(lab: LabState) -> int:
    """Start the daemon and wait for its one word; LabError, with its log's end, when that is not `ready`."""
    paths = Paths(lab.root)
    paths.run.mkdir(mode=0o700, exist_ok=True)
    with _log(paths) as log:
        said = _first_word(lab, log)
    daemon = recorded(lab.root)
    if said != b"ready" or daemon is None:
        raise LabError(f"the lab's daemon did not start: {said.decode() or _tail(paths.log)}")
    return daemon.pid


def _first_word(lab: LabState, log: IO[bytes]) -> bytes:
    command = [sys.executable, "-m", "runbook.lab.daemon", str(lab.root)]
    try:
        return subprocess.run(
            command,
            cwd=package_home(),  # where -m finds us
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            timeout=_START_S,
            check=False,
        ).stdout
    except subprocess.TimeoutExpired:
        return f"nothing heard of it in {_START_S:.0f} s".encode()


def _log(paths: Paths) -> IO[bytes]:
    """The daemon's log, one old half kept."""
    if paths.log.exists() and paths.log.stat().st_size > _LOG_BYTES:
        paths.log.replace(paths.log.with_suffix(".log.1"))
    return paths.log.open("ab")


def _tail(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").splitlines()[-10:]
    return "\n".join([f"see {log}", *lines])
