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

PAIR = "pair: prefill restarts"


def needed(
    host: Host,
    seen: Observation,
    wanted: Mapping[str, Environment],
    origins: Mapping[str, Origins],
    changed: Collection[str],
    gone: Mapping[str, Collection[str]],
) -> tuple[Restart, ...]:
    """The units to restart in start order; `wanted`, `origins` and `gone` by role, `changed` are the paths a plan writes.

    `gone` are variables that files once set and none does any more.
    """
    found = tuple(
        Restart(unit.name, unit.role, why)
        for unit in host.units
        if (
            why := _why(
                unit,
                seen,
                wanted.get(unit.role, {}),
                Feeding.of(unit, origins, changed, gone.get(unit.role, ())),
            )
        )
    )
    return with_pair(host, found)


class Feeding(NamedTuple):
    """The files a unit's environment comes from, those of them that the plan changes, and what its script launches.

    `any_name`: something in them may set any variable, which only a run can tell. `gone` are those they set no more.
    """

    files: tuple[str, ...]
    changed: frozenset[str]
    launch: Arguments
    any_name: bool = False
    gone: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, unit: Unit, origins: Mapping[str, Origins], changed: Collection[str], gone: Collection[str]
    ) -> Feeding:
        known = origins[unit.role].fed_by if unit.role in origins else ()
        own = (unit.script,) if unit.script else ()
        files = tuple(dict.fromkeys((*own, *known, *unit.env_files, *unit.drop_ins, *unit.sourced)))
        launch = origins[unit.role].arguments if unit.role in origins else arguments.NO_SCRIPT
        any_name = unit.role in origins and origins[unit.role].any_name
        return cls(files, frozenset(files).intersection(changed), launch, any_name, frozenset(gone))


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
    """A variable that no file gives, but that the engine itself or an eval may set at every start, restarts only for a newer
    file."""
    absent = {name for name, value in wanted.items() if value is None}
    doubtful = (feeding.gone - wanted.keys()) | (absent if feeding.any_name else frozenset())
    differing = differences({name: wanted[name] for name in wanted.keys() - doubtful}, state)
    if doubtful and _why_unknown(unit, state, seen, feeding):
        differing += differences(dict.fromkeys(doubtful), state)
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
    """Each variable whose running value is not the wanted one, as `NAME is X, wanted Y`."""
    running = state.processes.environ
    return [
        f"{name} is {'set' if is_secret(name) else shown(running.get(name))}, wanted {shown(value)}"
        for name, value in sorted(wanted.items())
        if _differs(name, running.get(name), value)
    ]


def _differs(name: str, running: str | None, wanted: str | None) -> bool:
    """Of a secret, which comes masked, only that it is there can be told."""
    return running is not None and wanted is None if is_secret(name) else running != wanted


def shown(value: str | None) -> str:
    return "absent" if value is None else repr(value)


def with_pair(host: Host, restarts: tuple[Restart, ...]) -> tuple[Restart, ...]:
    """A restarted prefill takes decode along: before SGLang PR#36029 decode kept stale rank ports of it."""
    roles = {restart.role for restart in restarts}
    decode = next((unit for unit in host.units if unit.role == "decode"), None)
    if "prefill" not in roles or "decode" in roles or decode is None:
        return restarts
    order = [unit.role for unit in host.units]
    paired = (*restarts, Restart(decode.name, decode.role, PAIR))
    return tuple(sorted(paired, key=lambda restart: order.index(restart.role)))
