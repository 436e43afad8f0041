"""A machine: an overlay over the base on memory, a network namespace on the run's bridge, systemd-nspawn in both."""

from __future__ import annotations

import shlex
import shutil
import socket
import subprocess
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.system.boot import cgroups
from tests.system.boot.commands import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.system.boot.records import Place, Record

SIZE_MIB = 192
_BOOT_TIMEOUT_S = 60.0
_PAUSE_S = 0.02
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Bind(NamedTuple):
    """A directory of this machine that a machine sees at `inside`, read-only."""

    here: Path
    inside: str

    def option(self) -> str:
        """As systemd-nspawn takes it, whose own separator is a colon."""
        here, inside = (str(path).replace("\\", r"\\").replace(":", r"\:") for path in self)
        return f"--bind-ro={here}:{inside}"


class Machine:
    """One machine of a run, powered off until `power_on`. Its disk lives as long as the run."""

    def __init__(self, record: Record, binds: Sequence[Bind] = ()) -> None:
        self.record, self._binds = record, tuple(binds)
        self._nspawn: subprocess.Popen[bytes] | None = None

    def power_on(self) -> None:
        """Start the machine; returns at once."""
        groups = cgroups.make(self.record.cgroup)
        enter = "".join(f"echo $$ >{shlex.quote(str(group / 'cgroup.procs'))}; " for group in groups)
        with self.record.console.open("ab") as console:
            self._nspawn = subprocess.Popen(
                ["sh", "-c", f"{enter}exec {shlex.join(_nspawn(self.record, self._binds))}"],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,
            )

    def power_off(self) -> None:
        """As if the plug were pulled: every process of the machine is gone when this returns."""
        cgroups.kill(self.record.cgroup)
        if self._nspawn:
            self._nspawn.wait(timeout=10)
        self._nspawn = None

    @property
    def leader(self) -> int:
        """The machine's PID 1 as this machine numbers it. Raises RuntimeError while it is off."""
        if self._nspawn is None or self._nspawn.poll() is not None:
            raise RuntimeError(f"{self.record.name} is off\n{self.console}")
        pid = self._nspawn.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if not children:
            raise RuntimeError(f"{self.record.name} has no PID 1 yet")
        return int(children[0])

    @property
    def console(self) -> str:
        """The last lines the machine said while booting."""
        said = self.record.console.read_text(errors="replace") if self.record.console.exists() else ""
        return "\n".join(said.splitlines()[-20:])

    def inside(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` as root in the machine's namespaces, whatever its network does."""
        clean = ["env", "-i", f"PATH={_PATH}", "LC_ALL=C.UTF-8", "HOME=/root"]
        return ["nsenter", "--all", f"--target={self.leader}", "--wd=/", "--", *clean, *argv]

    def wait_booted(self, banner: bytes = b"SSH-2.0") -> None:
        """Wait until sshd greets; raises TimeoutError, with the console's last lines, after a minute."""
        until = time.monotonic() + _BOOT_TIMEOUT_S
        while _greeting(self.record.address) != banner:
            if time.monotonic() > until:
                raise TimeoutError(f"{self.record.name} did not boot\n{self.console}")
            time.sleep(_PAUSE_S)

    def link(self, state: str) -> None:
        """Plug the machine's network cable in (`up`) or out (`down`)."""
        run(["ip", "link", "set", self.record.veth, state])


def made(
    place: Place, record: Record, base: Path, binds: Sequence[Bind] = (), host_key: Path | None = None
) -> Machine:
    """A machine with an empty disk over the base and its cable plugged in, written down first.

    Its sshd has `host_key`, the file of a private key with its public half beside it, else one of its own.
    """
    place.write(record)
    _lay_disk(record, base)
    _lay_host_key(record.root / "etc/ssh/ssh_host_ed25519_key", host_key)
    _lay_network(place, record)
    return Machine(record, binds)


def _lay_disk(record: Record, base: Path) -> None:
    disk = Path(record.directory)
    disk.mkdir()
    run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MIB}m,mode=755", record.cgroup, str(disk)])
    for name in ("upper", "work", "root"):
        (disk / name).mkdir()
    layers = f"lowerdir={base},upperdir={disk / 'upper'},workdir={disk / 'work'}"
    run(["mount", "-t", "overlay", record.cgroup, "-o", layers, str(record.root)])
    etc = record.root / "etc"
    (etc / "hostname").write_text(f"{record.name}\n")
    # Without its own name in hosts, sudo waits 20 s for a resolver.
    (etc / "hosts").write_text(f"127.0.0.1 localhost {record.name}\n::1 localhost\n")
    (etc / "machine-id").write_text(f"{uuid.uuid4().hex}\n")


def _lay_host_key(laid: Path, kept: Path | None) -> None:
    if kept is None:
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(laid)])
        return
    for ending in ("", ".pub"):
        shutil.copy(f"{kept}{ending}", f"{laid}{ending}")  # with its mode


def _lay_network(place: Place, record: Record) -> None:
    space = record.netns
    run(["ip", "netns", "add", space])
    run(["ip", "link", "add", record.veth, "type", "veth", "peer", "name", "host0", "netns", space])
    run(["ip", "link", "set", record.veth, "master", place.bridge, "up"])
    run(["ip", "-n", space, "address", "add", f"{record.address}/24", "dev", "host0"])
    for device in ("host0", "lo"):
        run(["ip", "-n", space, "link", "set", device, "up"])


def _nspawn(record: Record, binds: Sequence[Bind]) -> list[str]:
    return [
        "systemd-nspawn", "--quiet", "--boot", f"--directory={record.root}", f"--machine={record.name}",
        f"--network-namespace-path=/run/netns/{record.netns}", "--register=no", "--keep-unit",
        "--kill-signal=SIGRTMIN+3", "--console=pipe", *(bind.option() for bind in binds),
    ]  # fmt: skip


def _greeting(address: str) -> bytes:
    try:
        with socket.create_connection((address, 22), timeout=1.0) as connection:
            return connection.recv(7)
    except OSError:
        return b""
