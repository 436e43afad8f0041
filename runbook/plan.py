"""What we would change on a host, and why: a frozen value made from one observation.

A plan is edits of the serve scripts and the units whose live state differs from what the files will say. The
diff is a method of its changes, a dry run is not applying it, a rollback is the plan back to an older release.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook import edits
from runbook.errors import EditRefusedError, MissingOnHostError
from runbook.model import Change, Restart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runbook.edits.serve_script import ScriptEnvironment
    from runbook.model import FileState, Flag, Host, Observation, Unit, UnitState

Environment = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes of files, units to restart and why, and the environment each role is meant to get.

    `wanted` maps role → name → value, None meaning absent; it holds what the scripts will say after the changes.
    """

    changes: tuple[Change, ...] = ()
    restarts: tuple[Restart, ...] = ()
    daemon_reload: bool = False
    wanted: Mapping[str, Environment] = field(default_factory=dict)

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
        }


def deploy(host: Host, seen: Observation) -> Plan:
    """The plan that makes `seen` what `host` says; raises MissingOnHostError, EditRefusedError."""
    require_units(host, seen)
    require_scripts(host, seen)
    changes = tuple(
        change
        for path, roles in host.scripts.items()
        if (change := _edit(path, seen.files[path], _flags_of(host, path, roles))) is not None
    )
    return toward(host, seen, changes)


def toward(host: Host, seen: Observation, changes: Sequence[Change]) -> Plan:
    """Complete given file changes with the restarts they and the live state call for."""
    wanted = _wanted(host, seen, changes)
    changed = {change.path for change in changes}
    restarts = tuple(
        Restart(unit.name, unit.role, why)
        for unit in host.units
        if (why := _why_restart(unit, seen, wanted.get(unit.role, {}), changed)) is not None
    )
    return Plan(tuple(changes), _with_pair(host, restarts), _needs_reload(seen), wanted)


def require_units(host: Host, seen: Observation) -> None:
    missing = [f"unit {unit.name}" for unit in host.units if not seen.units[unit.name].exists]
    _refuse_missing(host, missing)


def require_scripts(host: Host, seen: Observation) -> None:
    missing = [f"script {path}" for path in host.scripts if seen.files[path].content is None]
    _refuse_missing(host, missing)


def _refuse_missing(host: Host, missing: Sequence[str]) -> None:
    if missing:
        raise MissingOnHostError(f"{host.name}: not on the host: {', '.join(missing)}; nothing was changed")


def _flags_of(host: Host, path: str, roles: Sequence[str]) -> dict[str, Flag]:
    """The flags of a script; units that share a script must agree."""
    flags: dict[str, Flag] = {}
    for role in roles:
        for flag in host.flags_of(role):
            other = flags.setdefault(flag.name, flag)
            if other.value != flag.value:
                raise EditRefusedError(
                    f"{flag.name} is wanted as {other.value!r} and {flag.value!r}", path=path
                )
    return flags


def _edit(path: str, file: FileState, flags: Mapping[str, Flag]) -> Change | None:
    before = _text(file)
    try:
        after = edits.named("serve_script").edit(
            before,
            set={flag.name: flag.value for flag in flags.values() if flag.value is not None},
            unset=[flag.name for flag in flags.values() if flag.value is None],
        )
    except EditRefusedError as refused:
        raise refused.at(path) from refused
    return None if after == before else Change(path, file.content, after.encode("utf-8", "surrogateescape"))


def _wanted(host: Host, seen: Observation, changes: Sequence[Change]) -> dict[str, Environment]:
    """Role → name → literal value or None (absent): the script after the change, then the flags it must lack."""
    after = {change.path: change.after for change in changes}
    wanted: dict[str, Environment] = {}
    for path, roles in host.scripts.items():
        content = after.get(path, seen.files[path].content)
        if content is None:
            continue
        try:
            script = read_script(path, content)
        except EditRefusedError:
            continue  # an edit would have refused it; a rollback must still be able to bring such a file back
        for role in roles:
            absent: Environment = {
                flag.name: None for flag in host.flags_of(role) if flag.name not in script.values
            }
            literal: Environment = {name: value for name, value in script.values.items() if value is not None}
            wanted[role] = absent | literal
    return wanted


def read_script(path: str, content: bytes) -> ScriptEnvironment:
    """What a serve script's launched process gets; raises EditRefusedError naming the file."""
    from runbook.edits import serve_script

    try:
        return serve_script.read(content.decode("utf-8", "surrogateescape"))
    except EditRefusedError as refused:
        raise refused.at(path) from refused


def _why_restart(unit: Unit, seen: Observation, wanted: Environment, changed: set[str]) -> str | None:
    """The reason to restart, None where there is none. Evidence decides, not the edit."""
    state = seen.units[unit.name]
    if not state.running:
        return f"not running ({state.properties.get('ActiveState')}/{state.properties.get('SubState')})"
    if state.processes.kind == "unknown":
        return _why_restart_unknown(unit, state, seen, changed)
    if unit.script in changed and not wanted:
        return "its script changes and cannot be read for what it exports"
    differing = differences(wanted, state)
    return f"running environment differs: {'; '.join(differing)}" if differing else None


def _why_restart_unknown(unit: Unit, state: UnitState, seen: Observation, changed: set[str]) -> str | None:
    if unit.script in changed:
        return "its script changes and its running environment is unknown"
    script = seen.files.get(unit.script or "")
    if script and state.processes.started_at and script.ctime_ns / 1e9 > state.processes.started_at:
        return "its script changed after it started and its running environment is unknown"
    return None


def differences(wanted: Mapping[str, str | None], state: UnitState) -> list[str]:
    """Each variable whose running value is not the wanted one, as `NAME is X, wanted Y`."""
    running = state.processes.environ
    return [
        f"{name} is {shown(running.get(name))}, wanted {shown(value)}"
        for name, value in sorted(wanted.items())
        if running.get(name) != value and not is_secret(name)
    ]


SECRET_WORDS = ("TOKEN", "KEY", "SECRET", "PASSWORD")


def is_secret(name: str) -> bool:
    """True where a name looks as if its value must not be shown (the host masks it, so it cannot be compared)."""
    return any(word in name.upper().split("_") for word in SECRET_WORDS)


def shown(value: str | None) -> str:
    return "absent" if value is None else repr(value)


def _with_pair(host: Host, restarts: tuple[Restart, ...]) -> tuple[Restart, ...]:
    """A restarted prefill takes decode along: before SGLang PR#36029 decode kept stale rank ports of it."""
    roles = {restart.role for restart in restarts}
    decode = next((unit for unit in host.units if unit.role == "decode"), None)
    if "prefill" not in roles or "decode" in roles or decode is None:
        return restarts
    order = [unit.role for unit in host.units]
    paired = (*restarts, Restart(decode.name, decode.role, "pair: prefill restarts"))
    return tuple(sorted(paired, key=lambda restart: order.index(restart.role)))


def _needs_reload(seen: Observation) -> bool:
    return any(state.properties.get("NeedDaemonReload") == "yes" for state in seen.units.values())


def _text(file: FileState) -> str:
    return (file.content or b"").decode("utf-8", "surrogateescape")


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
