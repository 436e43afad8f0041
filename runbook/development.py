"""What needs a checkout: `check` and `test` as CI runs them, and the real host of `lab.up --real`, which tests/system boots."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from runbook import interrupt
from runbook.errors import InterruptedByOperator

CHECKOUT = Path(__file__).resolve().parents[1]
LOCKS = ("requirements-dev.lock", "requirements-lab.lock", "requirements-report.lock")
CHECKS = (
    ("ruff", "format", "--check", "--quiet", "."),
    ("ruff", "check", "--quiet", "."),
    ("mypy",),
    ("lint-imports", "--no-logo"),
)
# Most tests wait for hosts and servers: three at a time keep two cores busy. A file keeps its lab to itself, and in their
# own order the long files come early.
SIDE_BY_SIDE = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
# Programs the system tests boot Debian hosts with, and the Debian packages they come in.
SYSTEM = {
    "debootstrap": "debootstrap",
    "systemd-nspawn": "systemd-container",
    "ip": "iproute2",
    "ssh": "openssh-client",
    "sshd": "openssh-server",
    "nsenter": "util-linux",
}


def check() -> int:
    """Formatting, lint, types, layers; every one runs, the first failure's status is returned."""
    install()
    statuses = [_run([_tool(command[0]), *command[1:]]) for command in CHECKS]
    return next((status for status in statuses if status), 0)


def test(*, heavy: bool, args: str) -> int:
    """`check`, then pytest; with `heavy` the long profiles too. pytest's summary comes last."""
    checked = check()
    install_for_hosts()
    selection = [] if heavy else ["-m", "not heavy"]
    environment = {"HYPOTHESIS_PROFILE": "nightly"} if heavy else {}
    tested = _run(
        [sys.executable, "-m", "pytest", *SIDE_BY_SIDE, *selection, *shlex.split(args)], environment
    )
    return tested or checked


def real_host(
    action: str, directory: Path, *, reset: bool = False, json: bool = False, checkout: Path = CHECKOUT
) -> int:
    """`lab.up`, `lab.down` or `lab.status` of the real host in an operator's directory; returns the exit code."""
    if not _boots_hosts(checkout):
        from runbook import app, errors
        from runbook.request import Request

        why = "--real needs a checkout of runbook: the host is booted by its tests/system"
        return app.refuse(Request(f"lab.{action}", json=json), errors.UsageError(why))
    flags = [flag for flag, given in (("--reset", reset), ("--json", json)) if given]
    return _waited_for([*_real(action, directory), *flags], checkout)[0]


def real_host_standing(directory: Path, *, checkout: Path = CHECKOUT) -> dict[str, Any] | None:
    """What `lab.status --real --json` says of the real host; None where none stands."""
    if not ((directory / ".lab/real/standing.json").exists() and _boots_hosts(checkout)):
        return None
    code, told = _waited_for([*_real("status", directory), "--json"], checkout, stdout=subprocess.PIPE)
    if code == InterruptedByOperator.exit_code:
        raise KeyboardInterrupt
    found: dict[str, Any] | None = json.loads(told)["real"]
    return found


def _waited_for(command: list[str], checkout: Path, stdout: int | None = None) -> tuple[int, bytes]:
    """Exit code and output of tests.system.real, which ends in order when it is interrupted: we only wait for that."""
    started: list[subprocess.Popen[bytes]] = []

    def ask(number: int) -> None:
        for child in started:
            child.send_signal(number)

    with interrupt.passed_on(ask):
        with interrupt.held_back():
            started.append(subprocess.Popen(command, cwd=checkout, stdout=stdout))
        told, _ = started[0].communicate()
        return started[0].returncode, told


def _boots_hosts(checkout: Path) -> bool:
    return (checkout / "tests/system/real").is_dir()


def _real(action: str, directory: Path) -> list[str]:
    return [sys.executable, "-m", "tests.system.real", action, str(directory)]


def install() -> None:
    """Install what development needs from its locks, unless it is there from these very locks."""
    stamp = Path(sys.prefix) / ".development-made-from"
    wanted = "".join(Path(lock).read_text() for lock in LOCKS)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"installing {' and '.join(LOCKS)} (once)", file=sys.stderr)  # noqa: T201
    for lock in LOCKS:
        _pip("install", "--quiet", "--require-hashes", "-r", lock)
    stamp.write_text(wanted)


def install_for_hosts() -> None:
    """Install the Debian packages of the test hosts where that can be done; without them those tests say what is missing."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    packages = [package for program, package in SYSTEM.items() if not shutil.which(program, path=path)]
    if not packages or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    print(f"installing {' '.join(packages)} (once)", file=sys.stderr)  # noqa: T201
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        subprocess.run(["apt-get", "-qq", *command], env=environment, stdout=subprocess.DEVNULL, check=False)


def _pip(*args: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "ensurepip", "--upgrade"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *args], check=True)


def _tool(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _run(command: list[str], environment: dict[str, str] | None = None) -> int:
    print(f"$ {shlex.join([Path(command[0]).name, *command[1:]])}", file=sys.stderr, flush=True)  # noqa: T201
    return subprocess.run(command, env={**os.environ, **(environment or {})}, check=False).returncode
