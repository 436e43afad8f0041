"""Which units restart, and why: what their processes really run with differs from what the files will say."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runbook.model import Restart
from runbook.onhost.masking import is_secret
from runbook.places import arguments

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from runbook.model import Host, Observation, Unit, UnitState
    from runbook.places.arguments import Arguments
    from runbook.places.origins import Origins
    from runbook.plan import Environment


def needed(
    host: Host,
    seen: Observation,
    wanted: Mapping[str, Environment],
    origins: Mapping[str, Origins],
    changed: Collection[str],
) -> tuple[Restart, ...]:
    """The units to restart in start order; `wanted` and `origins` by role, `changed` are the paths a plan writes."""
    found = tuple(
        Restart(unit.name, unit.role, why)
        for unit in host.units
        if (why := _why(unit, seen, wanted.get(unit.role, {}), Feeding.of(unit, origins, changed)))
    )
    return with_pair(host, found)


class Feeding(NamedTuple):
    """The files a unit's environment comes from, those of them that the plan changes, and what its script launches.

    `any_name`: something in them may set any variable, which only a run can tell.
    """

    files: tuple[str, ...]
    changed: frozenset[str]
    launch: Arguments
    any_name: bool = False

    @classmethod
    def of(cls, unit: Unit, origins: Mapping[str, Origins], changed: Collection[str]) -> Feeding:
        known = origins[unit.role].fed_by if unit.role in origins else ()
        own = (unit.script,) if unit.script else ()
        files = tuple(dict.fromkeys((*own, *known, *unit.env_files, *unit.drop_ins, *unit.sourced)))
        launch = origins[unit.role].arguments if unit.role in origins else arguments.NO_SCRIPT
        any_name = unit.role in origins and origins[unit.role].any_name
        return cls(files, frozenset(files).intersection(changed), launch, any_name)


def _why(unit: Unit, seen: Observation, wanted: Environment, feeding: Feeding) -> str | None:
    """The reason to restart, None where there is none. Evidence decides, not the edit."""
    state = seen.units[unit.name]
    if not state.running:
        return f"not running ({state.properties.get('ActiveState')}/{state.properties.get('SubState')})"
    if state.processes.kind == "unknown":
        return _why_unknown(unit, state, seen, feeding)
    if unit.script in feeding.changed and not wanted:
        return "its script changes and cannot be read for what it exports"
    reasons = (
        _why_environment(unit, state, seen, wanted, feeding),
        _why_arguments(unit, state, seen, feeding),
    )
    return "; ".join(filter(None, reasons)) or None


def _why_environment(
    unit: Unit, state: UnitState, seen: Observation, wanted: Environment, feeding: Feeding
) -> str | None:
    """A variable that is meant to be absent, where an eval may set it at every start, restarts only for a newer file."""
    sure = (
        {name: value for name, value in wanted.items() if value is not None} if feeding.any_name else wanted
    )
    differing = differences(sure, state)
    if not differing and feeding.any_name and _why_unknown(unit, state, seen, feeding):
        differing = differences(wanted, state)
    return f"running environment differs: {'; '.join(differing)}" if differing else None


def _why_arguments(unit: Unit, state: UnitState, seen: Observation, feeding: Feeding) -> str | None:
    """Declared arguments are compared always; where the plan changes the script, every one is."""
    running = arguments.of_process(feeding.launch, state.processes)
    if running.unknown or feeding.launch.unknown:
        own = feeding._replace(files=(unit.script or "",))
        return _why_unknown(unit, state, seen, own, "arguments are") if unit.args else None
    every = running.values.keys() | feeding.launch.values.keys()
    declared = {argument.name for argument in unit.args}
    differing = arguments.differences(
        feeding.launch, running, every if unit.script in feeding.changed else declared
    )
    return f"running arguments differ: {'; '.join(differing)}" if differing else None


def _why_unknown(
    unit: Unit, state: UnitState, seen: Observation, feeding: Feeding, what: str = "environment is"
) -> str | None:
    changed = feeding.changed.intersection(feeding.files)
    if changed:
        return f"{_names(unit, changed)} changes and its running {what} unknown"
    newer = [
        path
        for path in feeding.files
        if state.processes.started_at and _changed_s(seen, path) > state.processes.started_at
    ]
    return f"{_names(unit, newer)} changed after it started and its running {what} unknown" if newer else None


def _names(unit: Unit, paths: Iterable[str]) -> str:
    """`its script`, or the other files by their paths."""
    return ", ".join("its script" if path == unit.script else path for path in sorted(paths))


def _changed_s(seen: Observation, path: str) -> float:
    """When a file last changed (ctime), in seconds since the epoch; 0 where it was not seen."""
    file = seen.files.get(path) or seen.feeds.get(path)
    return file.ctime_ns / 1e9 if file else 0.0


def differences(wanted: Mapping[str, str | None], state: UnitState) -> list[str]:
    """Each variable whose running value is not the wanted one, as `NAME is X, wanted Y`; secrets, which come masked, left out."""
    running = state.processes.environ
    return [
        f"{name} is {shown(running.get(name))}, wanted {shown(value)}"
        for name, value in sorted(wanted.items())
        if running.get(name) != value and not is_secret(name)
    ]


def shown(value: str | None) -> str:
    return "absent" if value is None else repr(value)


def with_pair(host: Host, restarts: tuple[Restart, ...]) -> tuple[Restart, ...]:
    """A restarted prefill takes decode along: before SGLang PR#36029 decode kept stale rank ports of it."""
    roles = {restart.role for restart in restarts}
    decode = next((unit for unit in host.units if unit.role == "decode"), None)
    if "prefill" not in roles or "decode" in roles or decode is None:
        return restarts
    order = [unit.role for unit in host.units]
    paired = (*restarts, Restart(decode.name, decode.role, "pair: prefill restarts"))
    return tuple(sorted(paired, key=lambda restart: order.index(restart.role)))
