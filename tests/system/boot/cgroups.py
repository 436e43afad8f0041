"""A control group of its own for each machine.

nspawn with --keep-unit puts its payload below the group it was started in; two machines started in one group would
share the groups of their units of the same name, and one's `systemctl stop` would end the other's processes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from runbook import interrupt

_SWEEPS, _PAUSE_S = 200, 0.02


def hierarchies() -> tuple[Path, ...]:
    """Where systemd's groups are mounted: cgroup2 (unified, hybrid) and the named v1 hierarchy, whichever exist."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    mounts = [line.split(" - ") for line in lines]
    return tuple(
        Path(place.split()[4])
        for place, kind in mounts
        if kind.startswith("cgroup2 ") or (kind.startswith("cgroup ") and "name=systemd" in kind)
    )


@interrupt.held_back()
def usable() -> bool:
    """May we make groups of our own? A container often shows them read-only. What is tried is undone, whoever presses Ctrl-C."""
    name = f"runbook-probe-{os.getpid()}"
    try:
        found = bool(make(name))
        remove(name)
    except OSError:
        return False
    return found


def make(name: str) -> tuple[Path, ...]:
    """The group in each hierarchy; their `cgroup.procs` take the pid of who wants to be in it."""
    groups = tuple(root / name for root in hierarchies())
    for group in groups:
        group.mkdir(exist_ok=True)
    return groups


def kill(name: str) -> None:
    """Kill everything in the group and below it, and wait until it is empty. Raises TimeoutError after 4 s."""
    for _ in range(_SWEEPS):
        pids = [pid for root in hierarchies() for pid in _members(root / name)]
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE_S)
    raise TimeoutError(f"processes of the control group {name} would not die")


def remove(name: str) -> None:
    """Remove the empty group with everything below it."""
    for root in hierarchies():
        for directory, _, _ in os.walk(root / name, topdown=False):
            with contextlib.suppress(FileNotFoundError):
                Path(directory).rmdir()


def _members(group: Path) -> list[int]:
    """Pids in a group and below it; 0 stands for a process we cannot see."""
    found: list[int] = []
    for directory, _, _ in os.walk(group):
        with contextlib.suppress(FileNotFoundError, OSError):
            found += map(int, (Path(directory) / "cgroup.procs").read_text().split())
    return [pid for pid in found if pid]
