"""From one observation to the plan: edits of the serve scripts and of what wins over them, and the restarts they call for.

A plan is the edits, and the units whose live state differs from what the files will say. A rollback is the plan back to an
older release.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from runbook import restarts
from runbook.errors import EditRefusedError
from runbook.model import Change
from runbook.observation import require_scripts, require_units
from runbook.places import elsewhere, script, told
from runbook.places.origins import of as origins_of
from runbook.places.reading import Files
from runbook.places.systemd import unit_files
from runbook.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runbook.model import Flag, Host, Observation
    from runbook.places.origins import Origins


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
    plan = _toward(host, seen, changes, found, settled.origins)
    return plan._replace(places=told.told(host, seen, found), notes=_notes(host, found, settled.origins))


def toward(host: Host, seen: Observation, changes: Sequence[Change]) -> Plan:
    """Complete given file changes with the restarts they and the live state call for."""
    before = _readable(host, Files(seen))
    after = _readable(host, Files(seen, {change.path: change.after for change in changes}))
    return _toward(host, seen, changes, before, after)


def _toward(
    host: Host,
    seen: Observation,
    changes: Sequence[Change],
    before: Mapping[str, Origins],
    after: Mapping[str, Origins],
) -> Plan:
    wanted = {role: found.environment(host.flags_of(role)) for role, found in after.items()}
    changed = {change.path for change in changes}
    reasons = restarts.needed(host, seen, wanted, after, changed, _gone(seen, before, after))
    reload = _needs_reload(seen) or any(is_unit_file(host, seen, path) for path in changed)
    return Plan(tuple(changes), reasons, reload, wanted)


def _gone(
    seen: Observation, before: Mapping[str, Origins], after: Mapping[str, Origins]
) -> dict[str, frozenset[str]]:
    """By role, what files set now or a kept release did, and nothing will set any more: who started before has it still."""
    return {
        role: frozenset((*_once(role, seen, found), *(before[role].values if role in before else ())))
        - found.values.keys()
        - found.unreadable.keys()
        for role, found in after.items()
    }


def _once(role: str, seen: Observation, after: Origins) -> Iterator[str]:
    """What a release set, and only a release could have: of what systemd or a shell gives too, a start may have it from them."""
    return (name for name in seen.set_once.get(role, ()) if not after.gives_elsewhere(name))


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


def _needs_reload(seen: Observation) -> bool:
    return any(state.properties.get("NeedDaemonReload") == "yes" for state in seen.units.values())
