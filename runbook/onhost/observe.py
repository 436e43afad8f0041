"""One look at the host: everything a plan, a verify or a status needs, in one call."""

from __future__ import annotations

import base64
import os
import pwd
import sys
import time

from runbook.onhost import beside, environ, feeds, files, neighbours, processes, releases, room
from runbook.onhost import state as directory
from runbook.onhost import units as systemd
from runbook.onhost.calls import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from runbook.onhost.session import Session

_NOBODY = "?"  # a uid without a name


@reading
def ping(session: Session) -> dict[str, Any]:
    return {}


@reading
def observe(
    session: Session, state: str, files: list[str], units: list[str], names: list[str], patterns: list[str]
) -> dict[str, Any]:
    looks = {path: _file(path) for path in files}
    kept = releases.summary(state)
    assigned = _assigned(looks.values()) | releases.set_once(kept["releases"])
    leaves = environ.Selection(frozenset(names), assigned, tuple(patterns))
    shown, manager = _asked(session.scope, units, leaves)
    return {
        "facts": facts(session.proc),
        "now": time.time(),
        "files": looks,
        "feeds": feeds.of_units(shown, looks),
        "manager": manager,
        "units": _units(session.proc, state, shown, leaves),
        "disk": disk([state, *(look["real_path"] for look in looks.values())]),
        "state": {
            **kept,
            "beside": beside.services(state, units, [*looks], session.scope),
            **_audited(state),
        },
        "near": neighbours.of(shown, looks, session.scope),
    }


def _audited(state: str) -> dict[str, int]:
    """How long the audit is: whatever stands behind that was done later."""
    try:
        return {"audit_bytes": os.path.getsize(os.path.join(state, "audit.jsonl"))}
    except OSError:
        return {"audit_bytes": 0}


def _asked(scope: str, units: list[str], leaves: environ.Selection) -> tuple[dict[str, Any], dict[str, Any]]:
    """What systemd says of the units, and of its manager's environment meanwhile."""
    if not units:
        return {}, {"environ": {}, "error": None}
    with feeds.ask_manager(scope) as manager:
        shown = systemd.show(units, scope)
        return shown, feeds.manager(manager, leaves)


def _file(path: str) -> dict[str, Any]:
    return files.look(directory.absolute(path))


def _assigned(looks: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    scripts = (base64.b64decode(look["b64"]) for look in looks if look["b64"] is not None)
    return frozenset(name for script in scripts for name in environ.assigned(script))


def _units(
    proc: str, state: str, shown: Mapping[str, Mapping[str, str]], leaves: environ.Selection
) -> dict[str, Any]:
    look = processes.Look.take(proc)
    notes = processes.starts(state) if directory.exists(state) else {}
    return {
        name: {
            "properties": properties,
            "processes": processes.describe(processes.evidence(look, properties, notes.get(name), leaves)),
        }
        for name, properties in shown.items()
    }


def facts(proc: str) -> dict[str, Any]:
    """What machine this is and who we are on it."""
    machine = os.uname()
    return {
        "hostname": machine.nodename,
        "python": ".".join(map(str, sys.version_info[:3])),
        "uid": os.geteuid(),
        "user": _user(os.geteuid()),
        "kernel": f"{machine.sysname} {machine.release}",
        "machine": machine.machine,
        "boot_id": processes.boot_id(proc),
    }


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return _NOBODY


def disk(paths: Iterable[str]) -> dict[str, Any]:
    """The least room among the file systems of these paths, and those that cannot be written."""
    rooms = {path: room.room(os.path.dirname(path)) for path in paths}
    return {
        "free_bytes": min(one.free_bytes for one in rooms.values()),
        "free_inodes": min(one.free_inodes for one in rooms.values()),
        "read_only": [path for path, one in rooms.items() if one.read_only],
    }
