"""Real Debian hosts for tests: systemd as PID 1, sshd, an address of their own, and everything that can befall them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.system.boot import machine, runs
from tests.system.boot.commands import output, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.system.boot.machine import Bind, Machine
    from tests.system.boot.records import Place

_PROJECT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class TestHost:
    """A booted host. `key` logs in as root and as every user of `base.USERS`, `known_hosts` knows every host of the run."""

    __test__ = False  # a value for tests, no case of pytest's

    name: str
    address: str
    key: Path
    known_hosts: Path
    machine: Machine

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 30.0) -> str:
        """A program's output, run as root on the host beside its network; raises ProgramFailed unless it exits 0."""
        return run(self.machine.inside(argv), stdin=stdin, timeout_s=timeout_s)

    def sh(self, script: str, *, timeout_s: float = 30.0) -> str:
        """The output of a piece of shell."""
        return self.run(["sh", "-euc", script], timeout_s=timeout_s)

    def put(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file as root, making its directory."""
        self.run(
            ["sh", "-euc", 'mkdir -p "${1%/*}"; cat >"$1"; chmod "$2" "$1"', "sh", path, f"{mode:o}"],
            stdin=content,
        )

    def read(self, path: str) -> bytes:
        """A file's bytes."""
        return output(self.machine.inside(["cat", "--", path]))

    def ssh(self, *command: str, user: str = "root") -> list[str]:
        """OpenSSH's own command line into the host, for what must go through sshd."""
        options = (f"UserKnownHostsFile={self.known_hosts}", "BatchMode=yes", "IdentitiesOnly=yes")
        return [
            "ssh",
            "-F",
            "none",
            "-i",
            str(self.key),
            *(f"-o{option}" for option in options),
            f"{user}@{self.address}",
            *command,
        ]

    def power_off(self) -> None:
        """Pull the plug."""
        self.machine.power_off()

    def power_on(self) -> None:
        """Boot; returns once sshd answers."""
        self.machine.power_on()
        self.machine.wait_booted()

    def reboot(self) -> None:
        """Pull the plug and boot again: nothing had time to say goodbye."""
        self.power_off()
        self.power_on()

    def cut(self) -> None:
        """Pull the network cable: no packet, no reset."""
        self.machine.link("down")

    def heal(self) -> None:
        """Plug it in again; returns once sshd answers: the kernel says "no route" for a moment to whoever asks at once."""
        self.machine.link("up")
        self.machine.wait_booted()

    @contextlib.contextmanager
    def full_disk(self, *, leave_bytes: int = 0) -> Iterator[None]:
        """No room but `leave_bytes` on the host's root file system, until left."""
        filler = Path(self.machine.record.directory) / "filler"
        room = os.statvfs(self.machine.record.directory)
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, room.f_bavail * room.f_frsize - leave_bytes))
        try:
            yield
        finally:
            filler.unlink()

    @contextlib.contextmanager
    def read_only(self, *directories: str) -> Iterator[None]:
        """These directories on a read-only file system, until left."""
        for directory in directories:
            self.run(["mount", "--bind", directory, directory])
            self.run(["mount", "-o", "remount,bind,ro", directory])
        try:
            yield
        finally:
            for directory in directories:
                self.run(["umount", "--lazy", directory])


class Fleet:
    """The hosts of one run, booted together. Made by `fleet`."""

    def __init__(self, place: Place, tree: Path) -> None:
        self._place, self._tree = place, tree
        self._machines: list[Machine] = []
        self._key = place.directory / "key"
        self._known_hosts = place.directory / "known_hosts"
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self._key)])
        self._known_hosts.touch()

    def boot(
        self, names: Sequence[str], binds: Sequence[Bind] = (), host_key: Path | None = None
    ) -> tuple[TestHost, ...]:
        """Boot one host a name, all at once; returns when sshd answers on each. All see `binds` and have `host_key`, if given."""
        hosts = tuple(self._host(index, name, binds, host_key) for index, name in enumerate(names))
        with ThreadPoolExecutor(len(hosts)) as pool:
            list(pool.map(TestHost.power_on, hosts))
        return hosts

    def power_off(self) -> None:
        """Pull every plug."""
        for one in self._machines:
            one.power_off()

    @property
    def place(self) -> Place:
        return self._place

    def _host(self, index: int, name: str, binds: Sequence[Bind], host_key: Path | None) -> TestHost:
        made = machine.made(self._place, self._place.record(index, name), self._tree, binds, host_key)
        self._machines.append(made)
        self._let_in(made.record.root)
        address = made.record.address
        public = (made.record.root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()
        with self._known_hosts.open("a") as file:
            file.write(f"{address} {public[0]} {public[1]}\n")
        return TestHost(name, address, self._key, self._known_hosts, made)

    def _let_in(self, root: Path) -> None:
        """Lay the run's key into every home."""
        public = self._key.with_suffix(".pub").read_text()
        for home in (root / "root", *(root / "home").iterdir()):
            directory = home / ".ssh"
            directory.mkdir(mode=0o700, exist_ok=True)
            (directory / "authorized_keys").write_text(public)
            whose = home.stat()
            for path in (directory, directory / "authorized_keys"):
                os.chown(path, whose.st_uid, whose.st_gid)


@contextlib.contextmanager
def fleet(cache: Path, tree: Path) -> Iterator[Fleet]:
    """A run's place on this machine, its hosts based on `tree`; all of it is gone when left, and when this process dies."""
    place = runs.claim(cache)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.system.boot.reaper", str(place.directory)],
        stdin=subprocess.PIPE, cwd=_PROJECT, start_new_session=True,
    ) as reaper:  # fmt: skip
        ours = Fleet(place, tree)
        try:
            yield ours
        finally:
            ours.power_off()
    if reaper.returncode:
        raise RuntimeError(f"not everything of {place.directory} could be taken away")
