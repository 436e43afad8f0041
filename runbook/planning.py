"""What we would change on a host, and why: a frozen value made from one observation.

A plan is edits of the serve scripts, of the places that win over them, and the units whose live state differs from
what the files will say. The diff is a method of its changes, a dry run is not applying it, a rollback is the plan back
to an older release.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from runbook import restarts
from runbook.errors import EditRefusedError, MissingOnHostError
from runbook.model import Change
from runbook.places import elsewhere, script, told
from runbook.places.origins import of as origins_of
from runbook.places.reading import Files
from runbook.places.systemd import unit_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runbook.model import Flag, Host, Observation, Restart
    from runbook.places.origins import Origins
    from runbook.places.told import Told

Environment = restarts.Environment


class Plan(NamedTuple):
    """Changes of files, units to restart and why, and the environment each role is meant to get.

    `wanted` maps role → name → value, None meaning absent; it holds what the files will say after the changes.
    `places` tells where flags are set now, as far as there is more to tell than one line of a script, `notes` what
    could not be read and what the engine does about flags that go.
    """

    changes: tuple[Change, ...] = ()
    restarts: tuple[Restart, ...] = ()
    daemon_reload: bool = False
    wanted: Mapping[str, Environment] = {}
    places: tuple[Told, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """True when nothing is to be done: a valid plan."""
        return not (self.changes or self.restarts or self.daemon_reload)

    @property
    def digest(self) -> str:
        """SHA-256 of everything the plan would do; equal digests mean equal plans."""
        deeds = {
            "changes": [
                [c.path, _sha256(c.before), _sha256(c.after), c.mode, c.uid, c.gid] for c in self.changes
            ],
            "restarts": [[restart.unit, restart.why] for restart in self.restarts],
            "daemon_reload": self.daemon_reload,
        }
        return hashlib.sha256(json.dumps(deeds, sort_keys=True).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return {
            "digest": self.digest,
            "changes": [{"path": change.path, "diff": change.diff()} for change in self.changes],
            "restarts": [{"unit": restart.unit, "why": restart.why} for restart in self.restarts],
            "daemon_reload": self.daemon_reload,
            "places": [one.to_json() for one in self.places],
            "notes": list(self.notes),
        }


def deploy(host: Host, seen: Observation) -> Plan:
    """The plan that makes `seen` what `host` says; raises MissingOnHostError, EditRefusedError."""
    require_units(host, seen)
    require_scripts(host, seen)
    settled = elsewhere.settle(host, seen, script.planned(host, seen))
    changes = tuple(
        Change(path, seen.files[path].content, settled.after[path])
        for path in host.files
        if path in settled.after
    )
    found = elsewhere.trace(host, seen, {}) if settled.after else settled.origins
    plan = _toward(host, seen, changes, settled.origins)
    return plan._replace(places=told.told(host, seen, found), notes=_notes(host, found, settled.origins))


def toward(host: Host, seen: Observation, changes: Sequence[Change]) -> Plan:
    """Complete given file changes with the restarts they and the live state call for."""
    files = Files(seen, {change.path: change.after for change in changes})
    return _toward(host, seen, changes, _readable(host, files))


def _toward(host: Host, seen: Observation, changes: Sequence[Change], origins: Mapping[str, Origins]) -> Plan:
    wanted = {role: found.environment(host.flags_of(role)) for role, found in origins.items()}
    changed = {change.path for change in changes}
    reasons = restarts.needed(host, seen, wanted, origins, changed)
    reload = _needs_reload(seen) or any(is_unit_file(host, seen, path) for path in changed)
    return Plan(tuple(changes), reasons, reload, wanted)


def _readable(host: Host, files: Files) -> dict[str, Origins]:
    """The origins of each unit whose script can be read: a rollback must still be able to bring any other back."""
    found: dict[str, Origins] = {}
    for unit in host.units:
        if unit.script and files.content(unit.script) is not None:
            with contextlib.suppress(EditRefusedError):
                found[unit.role] = origins_of(unit, host.flags, files)
    return found


def _notes(host: Host, before: Mapping[str, Origins], after: Mapping[str, Origins]) -> tuple[str, ...]:
    """What the engine does about the flags that go, and what could not be read."""
    gone = dict.fromkeys(
        f"{flag.name} {told.wanted(flag)}"
        for flag in host.flags
        if flag.value is None
        and flag.engine_default
        and any(_goes(flag, before[r], after[r]) for r in flag.units)
    )
    unread = dict.fromkeys(line for found in after.values() for line in found.unread)
    return (*gone, *(f"not known what it sets: {line}" for line in unread))


def _goes(flag: Flag, before: Origins, after: Origins) -> bool:
    return before.winner(flag.name) is not None and after.winner(flag.name) is None


def is_unit_file(host: Host, seen: Observation, path: str) -> bool:
    """Whether systemd reads this file only at a daemon-reload."""
    declared = any(path in unit.drop_ins for unit in host.units)
    shown = (unit_files(state.properties) for state in seen.units.values())
    return (
        declared
        or any(path in paths for paths in shown)
        or re.search(r"\.service(\.d/[^/]+\.conf)?$", path) is not None
    )


def require_units(host: Host, seen: Observation) -> None:
    missing = [f"unit {unit.name}" for unit in host.units if not seen.units[unit.name].exists]
    _refuse_missing(host, missing)


def require_scripts(host: Host, seen: Observation) -> None:
    missing = [f"script {path}" for path in host.scripts if seen.files[path].content is None]
    _refuse_missing(host, missing)


def _refuse_missing(host: Host, missing: Sequence[str]) -> None:
    if missing:
        raise MissingOnHostError(f"{host.name}: not on the host: {', '.join(missing)}; nothing was changed")


def _needs_reload(seen: Observation) -> bool:
    return any(state.properties.get("NeedDaemonReload") == "yes" for state in seen.units.values())


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
