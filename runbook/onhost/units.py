"""systemd's units: one `show` for all of them, and the few verbs a rollout needs."""

from __future__ import annotations

import re
import time

from runbook.onhost import command
from runbook.onhost.calls import Refusal, reading, writing
from runbook.onhost.masking import mask_text
from runbook.onhost.scope import systemctl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from runbook.onhost.session import Session

PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "MainPID",
    "NRestarts",
    "ExecMainStartTimestampMonotonic",
    "ExecMainStatus",
    "ExecMainCode",
    "ExecStart",
    "ControlGroup",
    "Environment",
    "EnvironmentFiles",
    "DropInPaths",
    "FragmentPath",
    "NeedDaemonReload",
    "Type",
    "TimeoutStopUSec",
    "TimeoutStartUSec",
    "InvocationID",
    "StateChangeTimestampMonotonic",
    "UnitFileState",
    "Job",
)
_TELLING = ("ExecStart", "Environment")  # where secrets may stand
# systemd.unit(5): letters, digits and ":-_.\" with one "@"; a leading dash would be an option.
_NAME = re.compile(r"[A-Za-z0-9:_.\\@][A-Za-z0-9:_.\\@-]*\.[a-z]+")


def named(unit: str) -> str:
    """The name itself; Refusal where it is no unit's name."""
    if not _NAME.fullmatch(unit):
        raise Refusal("invalid", f"{unit!r} is no name of a systemd unit")
    return unit


def show(units: Sequence[str], scope: str = "system") -> dict[str, dict[str, str]]:
    """The properties of every unit, by unit; a unit that is not there has LoadState `not-found`."""
    if not units:
        return {}
    asked = f"--property={','.join(PROPERTIES)}"
    argv = systemctl(scope, "show", "--no-pager", asked, "--", *map(named, units))
    return parse(command.run(argv), units)


def parse(text: str, units: Sequence[str]) -> dict[str, dict[str, str]]:
    """`systemctl show`'s blocks, which come in the order asked; a property shown twice is joined by newlines."""
    blocks = [block for block in text.split("\n\n") if block.strip()]
    if len(blocks) != len(units):
        raise Refusal("failed", f"systemctl showed {len(blocks)} units, {len(units)} were asked for")
    return {unit: _properties(block) for unit, block in zip(units, blocks)}


def _properties(block: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in block.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            found[name] = f"{found[name]}\n{value}" if name in found else value
    return {name: mask_text(value) if name in _TELLING else value for name, value in found.items()}


def startable(unit: str, scope: str = "system") -> dict[str, str]:
    """The unit's properties; Refusal `missing` where there is no such unit, `failed` where it is masked."""
    properties = show([unit], scope)[unit]
    if properties.get("LoadState") == "not-found":
        raise Refusal("missing", f"no unit {unit} on this host", {"unit": unit})
    if properties.get("LoadState") == "masked":
        raise Refusal("failed", f"{unit} is masked; `systemctl unmask {unit}` lets it start", {"unit": unit})
    return properties


def last_pid(unit: str, scope: str) -> int:
    """The process the unit last ran as its main one, running or not; 0 where it never ran."""
    text = command.run(systemctl(scope, "show", "--property=ExecMainPID", "--", named(unit)))
    return int(_properties(text).get("ExecMainPID") or 0)


@reading
def units(session: Session, units: list[str]) -> dict[str, dict[str, str]]:
    return show(units, session.scope)


@writing
def daemon_reload(session: Session) -> dict[str, str]:
    command.run(systemctl(session.scope, "daemon-reload"), timeout_s=90.0)
    return {}


@writing
def unit_restart(session: Session, unit: str) -> dict[str, Any]:
    properties = startable(named(unit), session.scope)
    limited = _limited(properties)
    if limited:
        _verb(session.scope, "reset-failed", unit)
    asked = {"at": time.time(), "after_boot_s": after_boot_s()}
    _verb(session.scope, "restart", unit, "--no-block")
    return {"before": int(properties.get("MainPID") or 0), "reset": limited, **asked}


def after_boot_s() -> float:
    """Seconds since the boot, as the kernel tells of a process's start; unlike the time of day nobody sets them. 0 where there
    is no such clock (macOS)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else 0.0


def _limited(properties: Mapping[str, str]) -> bool:
    """Whether its start limit may refuse the start: it failed, or fails again and again while systemd restarts it."""
    again = properties.get("ActiveState") == "activating" and int(properties.get("NRestarts") or 0) > 0
    return properties.get("ActiveState") == "failed" or again


def _verb(scope: str, verb: str, unit: str, *options: str) -> None:
    try:
        command.run(systemctl(scope, verb, *options, "--", unit))
    except Refusal as refusal:
        raise Refusal(refusal.kind, refusal.message, {**refusal.data, "unit": unit}) from None
