"""Up, down and status of the embedded lab."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runbook.lab import extras, hoststate, state
from runbook.lab.address import forget
from runbook.lab.errors import LabError
from runbook.lab.launch import answers, recorded, start_daemon
from runbook.lab.processes import alive, end, family, table
from runbook.lab.serving import await_serving
from runbook.lab.state import LabState, Paths
from runbook.lab.systemd import ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Units stop in parallel; each has TimeoutStopSec (10 s in the lab's units) before SIGKILL.
_STOP_S = 20.0
_STUCK_S = 2.0


def up(
    root: Path,
    *,
    say: Callable[[str], None],
    reset: bool = False,
    usual_ports: bool = True,
    settle: Callable[[LabState], Iterable[str]] = await_serving,
) -> LabState:
    """Bring the lab in `root` up, laying the before state on first use or with `reset`; idempotent.

    Returns when `settle` is done, which waits for chat through the router and yields what does not get that far.
    `usual_ports` False never takes SGLang's ports 30000 to 30002. LabError when the lab cannot come up.
    """
    root = root.absolute()
    with _worded(root), _exclusive(root):
        running = status(root)
        sound = running is not None and answers(running)
        if running and sound and not reset:
            return running
        extras.ensure(_lock_file(), say)
        _end(root, grace_s=_STOP_S if sound else _STUCK_S)
        if reset:
            _clear(Paths(root))
        lab = _laid(root, say, usual_ports=usual_ports)
        pid = start_daemon(lab)
        for line in settle(lab):
            say(line)
        return lab._replace(pid=pid)


def down(root: Path) -> bool:
    """End everything the lab started, keeping its files; False where nothing ran."""
    root = root.absolute()
    if not root.is_dir():
        return False
    with _worded(root), _exclusive(root):
        return _end(root, grace_s=_STOP_S)


def status(root: Path) -> LabState | None:
    """The running lab; None where none was laid or its daemon does not run."""
    lab = state.load(root.absolute())
    daemon = recorded(root.absolute())
    return lab._replace(pid=daemon.pid) if lab and daemon and alive(daemon) else None


@contextlib.contextmanager
def _worded(root: Path) -> Iterator[None]:
    """What the machine refuses the lab (a full disk, a read-only checkout) is no defect of ours."""
    try:
        yield
    except OSError as error:
        raise LabError(f"the lab in {root} cannot be kept: {error}") from error


@contextlib.contextmanager
def _exclusive(root: Path) -> Iterator[None]:
    """One caller at a time; the lock goes with the process that holds it."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Paths(root).lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _end(root: Path, *, grace_s: float) -> bool:
    daemon = recorded(root)
    running = daemon is not None and alive(daemon)
    if daemon and running:
        below = family([daemon], table())
        end([daemon], grace_s=grace_s)
        end(below, grace_s=1.0)
    orphans = ledger.end_orphans(Paths(root).ledger)
    forget(Paths(root))
    Paths(root).daemon.unlink(missing_ok=True)
    return running or bool(orphans)


def _clear(paths: Paths) -> None:
    """Remove what an earlier life left, but for its keys and ports."""
    paths.laying.touch()
    for directory in (hoststate.of(paths.root), paths.units, paths.scripts, paths.journal):
        shutil.rmtree(directory, ignore_errors=True)


def _laid(root: Path, say: Callable[[str], None], *, usual_ports: bool) -> LabState:
    """The lab's state, laid now where it was not yet."""
    lab = state.load(root)
    paths = Paths(root)
    if lab and lab.root != root:
        raise LabError(f"{paths.state} was laid in {lab.root} and then moved; remove {root} or move it back")
    there = paths.units.is_dir() and paths.scripts.is_dir()
    whole = lab is not None and there and not paths.laying.exists()
    lab = _settled(lab, whole=whole) if lab else state.fresh_state(root, usual_ports=usual_ports)
    _prepare(lab)
    if not whole:
        _lay(lab, say)
    state.save(lab)
    return lab


def _settled(lab: LabState, *, whole: bool) -> LabState:
    """An earlier lab's state for this life: ports and interpreter are in its scripts, and change with those alone."""
    if not whole:
        ports = state.choose_ports(lab.ports, lab.ports)
        return lab._replace(ports=ports, python=sys.executable, ssh_port=_ssh_port(lab))
    if not Path(lab.python).exists():
        raise LabError(f"the lab was laid with {lab.python}, which is gone; lay it anew with lab.up --reset")
    taken = [f"{port} ({role})" for role, port in lab.ports.items() if not state.is_free(port)]
    if taken:
        raise LabError(
            f"the lab's ports are taken by another program: {', '.join(taken)}; "
            "stop it, or lay the lab anew on other ports with lab.up --reset"
        )
    return lab._replace(ssh_port=_ssh_port(lab))


def _ssh_port(lab: LabState) -> int:
    return state.choose_ports(["ssh"], {"ssh": lab.ssh_port})["ssh"]


def _prepare(lab: LabState) -> None:
    from runbook.lab.keys import ensure_keys

    ensure_keys(Paths(lab.root).keys, lab.ssh_port)


def _lay(lab: LabState, say: Callable[[str], None]) -> None:
    from runbook.lab.layout import lay, router_module

    Paths(lab.root).laying.touch()
    lay(lab)
    Paths(lab.root).laying.unlink()
    say(f"laid the before state in {lab.root}")
    if router_module().startswith("runbook."):
        say("sglang-router has no wheel for this platform: runbook.lab.standin_router stands in for it")


def _lock_file() -> Path:
    from runbook.lab.layout import package_home

    return package_home() / "requirements-lab.lock"
