"""What a unit's processes really run with, and how we know.

Evidence in order: an intact environ of a process that is no shell; what we recorded when we started this very
MainPID; else unknown, which is no answer.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from runbook.onhost import cgroups, command, commandline, environ, units
from runbook.onhost import state as directory
from runbook.onhost.calls import Refusal, writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from runbook.onhost.session import Session


class Evidence(NamedTuple):
    """`kind` is environ, recorded or unknown; `pid` is who speaks, `started_at` seconds since the epoch.

    `argv` is its command line, empty where that is not known.
    """

    kind: str
    pid: int = 0
    started_at: float = 0.0
    environ: Mapping[str, str] = {}
    detail: str = ""
    pids: Sequence[int] = ()
    argv: Sequence[str] = ()


class Look(NamedTuple):
    """The process table at one moment, and where it was read."""

    proc: str
    processes: dict[int, cgroups.Process]
    booted_at: float

    @classmethod
    def take(cls, proc: str) -> Look:
        return cls(proc, cgroups.table(proc), booted_at())

    def started_at(self, pid: int) -> float:
        """When a process started, in seconds since the epoch by the clock of now; 0 where unknown."""
        one = self.processes.get(pid)
        return self.booted_at + one.start_ticks / os.sysconf("SC_CLK_TCK") if one else 0.0


def booted_at() -> float:
    """When the machine booted, by the clock of now: unlike `btime` it follows a clock that was set after boot, and unlike
    `uptime` no container has one of its own (lxcfs). 0 where unknown."""
    since_s = units.after_boot_s()
    return time.time() - since_s if since_s else 0.0


def evidence(
    look: Look,
    properties: Mapping[str, str],
    recorded: Mapping[str, Any] | None,
    leaves: environ.Selection,
) -> Evidence:
    """What the processes of one unit run with. `recorded` is our note of its last start, if any."""
    main = int(properties.get("MainPID") or 0)
    if not look.processes:
        return _from_record(look, main, recorded, leaves, [], "this machine shows no process file system")
    pids, stand_in = cgroups.members(look.proc, properties.get("ControlGroup", ""), main, look.processes)
    if not pids:
        return Evidence("unknown", detail="no process is running")
    speaker = next((pid for pid in pids if _speaks(look, pid)), None)
    if speaker is None:
        return _from_record(look, main, recorded, leaves, pids, _silence(look, pids))
    return _from_environ(look, speaker, pids, leaves, stand_in)


def _speaks(look: Look, pid: int) -> bool:
    name = environ.program(look.proc, pid, look.processes[pid].comm)
    return not environ.is_shell(name) and environ.read(look.proc, pid) is not None


def _silence(look: Look, pids: list[int]) -> str:
    names = ((pid, environ.program(look.proc, pid, look.processes[pid].comm)) for pid in pids)
    found = {environ.silence(look.proc, pid, name) for pid, name in names}
    causes = (environ.UNREADABLE, environ.OVERWRITTEN, environ.EMPTY)
    return next((cause for cause in causes if cause in found), environ.SHELL)


def _from_environ(
    look: Look, pid: int, pids: list[int], leaves: environ.Selection, stand_in: str
) -> Evidence:
    found = environ.read(look.proc, pid)
    if found is None:
        return Evidence("unknown", detail=f"process {pid} ended while it was read", pids=pids)
    argv = commandline.read(look.proc, pid)
    return Evidence("environ", pid, look.started_at(pid), leaves.of(found), stand_in, pids, argv)


def _from_record(
    look: Look,
    main: int,
    recorded: Mapping[str, Any] | None,
    leaves: environ.Selection,
    pids: list[int],
    why: str,
) -> Evidence:
    started = look.started_at(main)
    if not recorded or not main or recorded.get("identity") != identity(look.proc, main):
        return Evidence("unknown", main, started, {}, why, pids)
    return Evidence("recorded", main, started, leaves.of(recorded["environ"]), why, pids)


def identity(proc: str, pid: int) -> str | None:
    """A name for this very process: pids come round again, a pid with its start does not. None where it is gone."""
    one = cgroups.process(proc, pid)
    if one is not None:
        return f"{boot_id(proc)}/{pid}/{one.start_ticks}"
    return None if os.path.isdir(f"{proc}/self") else _identity_by_ps(pid)


def _identity_by_ps(pid: int) -> str | None:
    """The same where there is no process file system (macOS)."""
    started = command.run(["ps", "-o", "lstart=", "-p", str(pid)], expect=(0, 1)).strip()
    return f"{pid}/{started}" if started else None


def boot_id(proc: str) -> str:
    """The kernel's name for this boot, empty where it has none."""
    try:
        with open(f"{proc}/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def starts(state: str) -> dict[str, Any]:
    """Our notes of the last starts, by unit."""
    found = directory.read_json(os.path.join(state, "starts.json"))
    return found if isinstance(found, dict) else {}


def describe(one: Evidence) -> dict[str, Any]:
    """The evidence as the wire carries it."""
    return one._asdict()


@writing
def record_start(
    session: Session, state: str, unit: str, pid: int, environ: Mapping[str, str]
) -> dict[str, Any]:
    found = identity(session.proc, pid)
    if found is None:
        raise Refusal("missing", f"{unit}: no process {pid}", {"unit": unit, "pid": pid})
    notes = {
        **starts(directory.ensure(state)),
        units.named(unit): {"identity": found, "environ": dict(environ)},
    }
    directory.write_json(os.path.join(state, "starts.json"), notes)
    return {}
