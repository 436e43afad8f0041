"""The lab's daemon: `python -m runbook.lab.daemon ROOT`.

It detaches, ends what a killed predecessor left, starts the SSH server, the unit manager and the enabled units, and
says `ready` (or why not) on stdout, once. SIGTERM stops every unit and then it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pwd
import signal
import sys
from pathlib import Path

from runbook.lab import control, state
from runbook.lab.address import socket_address
from runbook.lab.processes import identify
from runbook.lab.session import Sessions, Surroundings
from runbook.lab.sshd import Access, SshServer
from runbook.lab.state import LabState, Paths
from runbook.lab.systemd import ledger
from runbook.lab.systemd.journal import Journal
from runbook.lab.systemd.units import Units

_INHERITED = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "PATH")
_LOOK_S = 2.0


def main(argv: list[str]) -> int:
    """Run the daemon of the lab in argv[0] until it is told to stop."""
    if os.fork():
        os._exit(0)
    os.setsid()
    lab = state.load(Path(argv[0]))
    if lab is None:
        return _refuse(f"no lab was laid in {argv[0]}")
    Paths(lab.root).run.mkdir(mode=0o700, exist_ok=True)
    with (Paths(lab.root).run / "daemon.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return _refuse("another daemon serves this lab")
        return asyncio.run(_live(lab))


def _say(line: str) -> None:
    """Tell whoever started us, and let go of the pipe: from here on stdout is the log."""
    with contextlib.suppress(OSError):
        os.write(1, line.encode())
    os.dup2(2, 1)


def _refuse(why: str) -> int:
    _say(why)
    return 1


async def _live(lab: LabState) -> int:
    paths = Paths(lab.root)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    ledger.end_orphans(paths.ledger)
    paths.journal.mkdir(mode=0o700, exist_ok=True)
    journal = Journal(paths.journal)
    units = Units(paths.units, journal, paths.ledger, _environ())
    sessions = Sessions(surroundings(paths))
    server = SshServer()
    with socket_address(paths) as address:
        try:
            await server.listen(lab.ssh_port, Access(lab.user, paths.keys), sessions)
        except OSError as error:
            return _refuse(f"port {lab.ssh_port} of the lab's SSH server is taken ({error.strerror})")
        await control.serve(address, units, journal)
        _announce(paths)
        await _work(units, paths, stop)
        await server.close()
        await units.stop_all()
        await asyncio.to_thread(sessions.end, 2.0)
        paths.daemon.unlink(missing_ok=True)
    return 0


async def _work(units: Units, paths: Paths, stop: asyncio.Event) -> None:
    """Start what is enabled and serve until told to stop, or until somebody removed the lab from under us."""
    starting = [asyncio.ensure_future(units.ask(name, "start")) for name in units.enabled()]
    _say("ready")
    while paths.daemon.exists() and not stop.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _LOOK_S)
    for task in starting:
        task.cancel()


def _announce(paths: Paths) -> None:
    """Say who the daemon is; readers look for this very process."""
    me = identify(os.getpid())
    fresh = paths.daemon.with_suffix(".new")
    fresh.write_text(json.dumps({"pid": os.getpid(), "started": me.started if me else ""}))
    fresh.replace(paths.daemon)


def _environ() -> dict[str, str]:
    """What the daemon's own environment gives to units and sessions: a login's variables, and nothing else."""
    names = {*_INHERITED, *(name for name in os.environ if name.startswith("LC_"))}
    user = state.user_name()
    return {
        "PATH": os.defpath,
        "USER": user,
        "LOGNAME": user,
        **{name: os.environ[name] for name in names if name in os.environ},
    }


def surroundings(paths: Paths) -> Surroundings:
    """The user's shell, home and environment, with the lab's `bin/` first on PATH."""
    environ = _environ()
    environ["PATH"] = f"{paths.bin}:{environ['PATH']}"
    home = environ.get("HOME", "/")
    return Surroundings(_shell(), home if Path(home).is_dir() else "/", environ)


def _shell() -> str:
    try:
        shell = pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:
        shell = ""
    usable = os.access(shell, os.X_OK) and Path(shell).name not in ("nologin", "false")
    return shell if usable else "/bin/sh"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
