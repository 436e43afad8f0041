"""A real OpenSSH sshd on a loopback port, run by this user with keys and configuration of its own."""

from __future__ import annotations

import contextlib
import getpass
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from runbook.model import SshTarget

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_START_S = 10.0
# Debian's bash reads ~/.bashrc for a command over SSH unless it is a shell within a shell; this user's is not ours.
NO_RC_FILES = {"SHLVL": "5"}


def binary() -> str | None:
    """The path of sshd, which must be absolute because it runs itself again; None where there is none."""
    return shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin:/usr/bin:/usr/lib/ssh:/usr/libexec")


@dataclass(frozen=True, slots=True)
class Sshd:
    """A running sshd. `root` holds its keys, `log` and `authorized_keys`."""

    root: Path
    port: int
    process: subprocess.Popen[bytes] = field(compare=False)

    @property
    def known_hosts(self) -> Path:
        return self.root / "known_hosts"

    @property
    def key(self) -> Path:
        return self.root / "client"

    @property
    def log(self) -> str:
        return (self.root / "log").read_text(encoding="utf-8", errors="replace")

    def target(
        self, *, config: str | None = "none", key: Path | None = None, user: str | None = None
    ) -> SshTarget:
        """How to log in: nothing of the user's own configuration is read."""
        return SshTarget(
            address="127.0.0.1",
            user=user or getpass.getuser(),
            port=self.port,
            key=str(key or self.key),
            known_hosts=str(self.known_hosts),
            config=config,
        )

    def trust(self, public: Path) -> None:
        """Make `public` the host key that is on file for this sshd."""
        kind, key = public.read_text(encoding="ascii").split()[:2]
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {kind} {key}\n", encoding="ascii")


def make_key(path: Path, *, kind: str = "ed25519", passphrase: str = "") -> Path:
    """A fresh key pair; the path of its private half."""
    argv = ["ssh-keygen", "-q", "-N", passphrase, "-C", "runbook-test", "-t", kind, "-f", str(path)]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    return path


@contextlib.contextmanager
def serving(
    root: Path,
    *,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    force: str | None = None,
) -> Iterator[Sshd]:
    """An sshd in `root` until the end of the block.

    `options` are further lines of its configuration, `environment` is set for every session, `force` is the
    command that runs in place of the login shell (it finds what was asked in $SSH_ORIGINAL_COMMAND).
    """
    found = binary()
    assert found is not None, "sshd is not installed"
    root.mkdir(parents=True, exist_ok=True)
    make_key(root / "host")
    make_key(root / "client")
    shutil.copy(root / "client.pub", root / "authorized_keys")
    _privilege_separation()
    port = _free_port()
    (root / "config").write_text(_config(root, port, options, environment or {}, force), encoding="utf-8")
    process = subprocess.Popen(
        [found, "-D", "-f", str(root / "config"), "-E", str(root / "log")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    server = Sshd(root, port, process)
    try:
        _await(server)
        server.trust(root / "host.pub")
        yield server
    finally:
        process.terminate()
        process.wait(timeout=10)


def _config(
    root: Path, port: int, options: Sequence[str], environment: Mapping[str, str], force: str | None
) -> str:
    setenv = " ".join(f'"{name}={value}"' for name, value in {**NO_RC_FILES, **environment}.items())
    lines = [
        *options,
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {root / 'host'}",
        f"AuthorizedKeysFile {root / 'authorized_keys'}",
        f"PidFile {root / 'pid'}",
        "StrictModes no",
        "UsePAM no",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin prohibit-password",
        "LogLevel VERBOSE",
        "PrintMotd no",
    ]
    lines.append(f"SetEnv {setenv}")
    if force:
        lines.append(f"ForceCommand {force}")
    return "".join(f"{line}\n" for line in lines)


def _privilege_separation() -> None:
    # sshd started as root wants its empty directory, which is the service manager's to make.
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await(server: Sshd) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.process.poll() is None:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", server.port), timeout=1.0) as peer,
        ):
            peer.recv(64)
            return
        time.sleep(0.02)
    raise AssertionError(f"sshd did not start: {server.log}")


def path_with(directory: Path) -> dict[str, str]:
    """An environment that finds programs in `directory` first, and this Python as `python3`."""
    link = directory / "python3"
    if not link.exists():
        link.symlink_to(sys.executable)
    return {"PATH": f"{directory}:/usr/local/bin:/usr/bin:/bin"}


def script(path: Path, text: str) -> Path:
    """An executable sh script."""
    path.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
    path.chmod(0o755)
    return path


def quote(path: Path) -> str:
    return shlex.quote(str(path))
