"""Two unit managers under one roof: real systemd on a test host, and the lab's own, each asked through the helper."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from runbook.lab import client
from tests.system.helper import PipedWire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.system.hosts import TestHost

_PROJECT = Path(__file__).parents[2]
_TOOLS = ("systemctl", "journalctl")


class UnitManager(Protocol):
    """Where units are written and asked about. `directory` is where their files are, as its `systemctl show` names it."""

    @property
    def directory(self) -> str: ...

    @property
    def wire(self) -> PipedWire: ...

    def write(self, name: str, text: str) -> None:
        """Write a file below the unit directory, making its directory; `/dev/null` makes the link that masks."""

    def remove(self, name: str) -> None:
        """Remove what was written of a unit, its drop-ins included."""

    def systemctl(self, *argv: str) -> int:
        """Run systemctl; its exit code."""


@dataclass(frozen=True, slots=True)
class RealSystemd:
    """systemd of a test host."""

    host: TestHost
    wire: PipedWire
    directory: str = "/etc/systemd/system"

    def write(self, name: str, text: str) -> None:
        path = f"{self.directory}/{name}"
        if text == "/dev/null":
            self.host.run(["ln", "-sfn", "/dev/null", path])
            return
        self.host.put(path, text.encode())
        if "WantedBy=" in text:
            self.host.sh(f"mkdir -p {self._wants}; ln -sfn {path} {self._wants}/{name}")

    def remove(self, name: str) -> None:
        paths = (f"{self.directory}/{name}", f"{self.directory}/{name}.d", f"{self._wants}/{name}")
        self.host.run(["rm", "-rf", "--", *paths])

    @property
    def _wants(self) -> str:
        """Where `systemctl enable` would link to; the lab counts a unit that says WantedBy= as enabled."""
        return f"{self.directory}/multi-user.target.wants"

    def systemctl(self, *argv: str) -> int:
        return subprocess.run(
            self.host.machine.inside(["systemctl", *argv]), capture_output=True, timeout=60, check=False
        ).returncode


@dataclass(frozen=True, slots=True)
class LabSystemd:
    """The lab's unit manager, alone in a directory of its own. `environ` has its tools first on PATH."""

    root: Path
    wire: PipedWire
    environ: dict[str, str]

    @property
    def directory(self) -> str:
        return str(self.root / "units")

    def write(self, name: str, text: str) -> None:
        path = Path(self.directory) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if text == "/dev/null":
            path.symlink_to("/dev/null")
        else:
            path.write_text(text)

    def remove(self, name: str) -> None:
        path = Path(self.directory) / name
        path.unlink(missing_ok=True)
        for dropin in (path.parent / f"{name}.d").glob("*"):
            dropin.unlink()

    def systemctl(self, *argv: str) -> int:
        return subprocess.run(
            ["systemctl", *argv], env=self.environ, capture_output=True, timeout=60, check=False
        ).returncode


@contextlib.contextmanager
def real(host: TestHost) -> Iterator[RealSystemd]:
    """The manager of a host."""
    with PipedWire("writing", "/var/lib/runbook/contract", prefix=host.machine.inside([])) as wire:
        yield RealSystemd(host, wire)


@contextlib.contextmanager
def lab(root: Path) -> Iterator[LabSystemd]:
    """A manager of the lab's kind, running in a process of its own until left."""
    for name in ("units", "bin"):
        (root / name).mkdir()
    # sun_path holds 108 bytes; pytest's directories may be longer.
    with tempfile.TemporaryDirectory(prefix="lab-") as short:
        control = Path(short) / "control"
        (root / "control").write_text(str(control))
        _lay_tools(root)
        environ = {**os.environ, "PATH": f"{root / 'bin'}:{os.environ['PATH']}"}
        with _manager(root, control), PipedWire("writing", str(root / "state"), environ=environ) as wire:
            yield LabSystemd(root, wire, environ)


def _lay_tools(root: Path) -> None:
    for name in _TOOLS:
        words = [sys.executable, "-I", "-S", client.__file__, str(root / "control"), name]
        (root / "bin" / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        (root / "bin" / name).chmod(0o755)


@contextlib.contextmanager
def _manager(root: Path, control: Path) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-m", __name__, str(root), str(control)],
        cwd=_PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            process.stdin.close()
            process.wait(timeout=30)


async def serve(root: Path, control: Path) -> None:
    """Be the lab's unit manager until stdin ends."""
    from runbook.lab import control as socket
    from runbook.lab.systemd.journal import Journal
    from runbook.lab.systemd.units import Units

    journal = Journal(root / "journal")
    units = Units(root / "units", journal, root / "activations.json", {"PATH": os.environ["PATH"]})
    server = await socket.serve(control, units, journal)
    print("ready", flush=True)  # noqa: T201 - the sign its parent waits for
    await asyncio.to_thread(sys.stdin.buffer.read)
    server.close()
    await units.stop_all()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), Path(sys.argv[2])))
