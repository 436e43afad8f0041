"""How a process ended: systemd's words for it, and what it means for the unit."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runbook.lab.systemd.service import MainExited, Service
    from runbook.lab.systemd.unitfile import UnitFile

CLD_EXITED, CLD_KILLED, CLD_DUMPED = 1, 2, 3
_CLEAN_SIGNALS = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE}
_EXIT_NAMES = {
    0: "SUCCESS",
    1: "FAILURE",
    2: "INVALIDARGUMENT",
    3: "NOTIMPLEMENTED",
    4: "NOPERMISSION",
    5: "NOTINSTALLED",
    6: "NOTCONFIGURED",
    7: "NOTRUNNING",
    200: "CHDIR",
    203: "EXEC",
}


def verdict_of(unit: UnitFile, event: MainExited) -> str:
    """systemd's Result= of a main process that ended so."""
    if event.code == CLD_DUMPED:
        return "core-dump"
    if event.code == CLD_KILLED:
        clean = event.status in _CLEAN_SIGNALS and unit.type != "oneshot"
        return "success" if clean else "signal"
    return "success" if event.status == 0 or unit.ignore_failure else "exit-code"


def wants_restart(service: Service) -> bool:
    """Whether Restart= starts a unit again that ended with this result."""
    policy, result = service.unit.restart, service.result
    if policy in ("no", "always"):
        return policy == "always"
    if policy == "on-success":
        return result == "success"
    bad = {
        "on-failure": {"exit-code", "signal", "core-dump", "timeout", "resources"},
        "on-abnormal": {"signal", "core-dump", "timeout"},
        "on-abort": {"signal", "core-dump"},
    }
    return result in bad[policy]


def describe_exit(code: int, status: int) -> str:
    """`code=exited, status=1/FAILURE`, `code=killed, status=9/KILL`."""
    words = {CLD_EXITED: "exited", CLD_KILLED: "killed", CLD_DUMPED: "dumped"}
    return f"code={words[code]}, status={exit_name(code, status)}"


def exit_name(code: int, status: int) -> str:
    """`1/FAILURE` of an exit, `9/KILL` of a signal."""
    if code == CLD_EXITED:
        return f"{status}/{_EXIT_NAMES.get(status, 'n/a')}"
    try:
        return f"{status}/{signal.Signals(status).name.removeprefix('SIG')}"
    except ValueError:
        return f"{status}/RTMIN+{status - signal.SIGRTMIN}"
