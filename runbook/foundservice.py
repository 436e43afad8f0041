"""A service as it was found on a machine: its units in start order, what its scripts launch, and its flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook import inventory
from runbook.errors import EditRefusedError
from runbook.model import Unit
from runbook.onhost.masking import mask
from runbook.places import arguments, origins
from runbook.places.reading import Files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runbook.ledger import Catalogue
    from runbook.model import Observation
    from runbook.places.arguments import Arguments

# A decode that outlives its prefill keeps stale ports of it, and a router asks both.
_FIRST, _LAST = ("prefill", "decode"), ("router",)


@dataclass(frozen=True, slots=True)
class Found:
    """What a host file is written from. `environments` maps role → variable → value, `notes` a variable to a word on it.

    `state_dir` is where the state of a user's own units may be kept; None: these are the machine's units. `spare` maps a role to
    its script where that is left out of the unit, since no flag stands in it. `kept` is where the host keeps releases of these
    units already, None where it keeps none.
    """

    units: tuple[Unit, ...]
    environments: Mapping[str, Mapping[str, str]]
    model: str | None
    notes: Mapping[str, str]
    state_dir: str | None = None
    spare: Mapping[str, str] = field(default_factory=dict)
    kept: str | None = None


def units(answer: Mapping[str, Mapping[str, Any]]) -> tuple[Unit, ...]:
    """The units of the helper's `serving` answer, each with its role and script, in start order."""
    roles = inventory.roles(answer)
    found = [Unit(roles[name], name, one.get("script")) for name, one in answer.items()]
    return tuple(sorted(found, key=lambda unit: (_rank(unit.role), unit.role)))


def _rank(role: str) -> int:
    if role in _FIRST:
        return _FIRST.index(role)
    return len(_FIRST) + (role in _LAST)


def described(bare: Sequence[Unit], seen: Observation, catalogue: Catalogue, scope: str = "system") -> Found:
    """The units with where they answer, the model they serve and the engine's variables they are given."""
    launches = {unit.role: _launch(unit, seen) for unit in bare}
    given = {unit.role: _given(unit, seen, catalogue) for unit in bare if unit.script}
    environments = {role: values for role, (values, _) in given.items()}
    noted = (
        (name, cost)
        for values in environments.values()
        for name, value in values.items()
        if (cost := catalogue.diagnostic(name, value))
    )
    models = (_option(launch, "--served-model-name") for launch in launches.values())
    chat = next((unit.role for unit in bare if unit.role in _LAST), None)
    spare = _spare(bare, environments)
    return Found(
        units=tuple(
            _answering(unit, launches[unit.role], chat, len(bare))._replace(
                script=None if unit.role in spare else unit.script,
                **given[unit.role][1] if unit.script else {},
            )
            for unit in bare
        ),
        environments={role: values for role, values in environments.items() if role not in spare},
        model=next(filter(None, models), None),
        notes={name: f"a diagnostic: {cost}" for name, cost in noted},
        state_dir=_users_state(seen) if scope == "user" else None,
        spare=spare,
        kept=next((one["state"] for one in seen.beside if one["current"]), None),
    )


def _spare(bare: Sequence[Unit], environments: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """A router's script in which no flag stands: declared, it would get every flag that names no units, and its process, whose
    title blanks its environment, would be asked what it runs with."""
    return {
        unit.role: unit.script
        for unit in bare
        if unit.script and unit.role in _LAST and not environments[unit.role] and len(environments) > 1
    }


def _users_state(seen: Observation) -> str:
    """Where the state of a user's units may be kept: what systemd's manager of theirs was given as home says it."""
    user = seen.facts.get("user") or "unknown"
    return f"{seen.manager.get('HOME') or f'/home/{user}'}/.local/state/runbook"


def _launch(unit: Unit, seen: Observation) -> Arguments:
    return arguments.of_file(unit.script, seen.files[unit.script].content if unit.script else None)


def _option(launch: Arguments, name: str) -> str | None:
    """The first word given to an option, as it is written: a host file is read over before it is used."""
    return next(iter(launch.of(name) or ()), None)


def _answering(unit: Unit, launch: Arguments, chat: str | None, many: int) -> Unit:
    """The unit with its health and chat addresses, as far as its launch tells a port."""
    port = _option(launch, "--port")
    if port is None or not port.isdigit():
        return unit
    base = f"http://127.0.0.1:{port}"
    if unit.role == chat:
        return unit._replace(url=base)
    return unit._replace(health=f"{base}/health", url=base if many == 1 else None)


def _given(unit: Unit, seen: Observation, catalogue: Catalogue) -> tuple[dict[str, str], dict[str, Any]]:
    """The engine's variables a start would give the unit, and the files besides its script that give them, by key.

    What runs, where its script cannot be read. What systemd's manager gives is no file's, and is left out.
    """
    try:
        found = origins.of(unit, (), Files(seen))
    except EditRefusedError:
        return dict(_ours(seen.units[unit.name].processes.environ, catalogue)), {}
    won = {name: found.winner(name) for name in found.values}
    lasting = {name: found.values[name] for name, place in won.items() if place and place.path}
    values = dict(_ours(lasting, catalogue))
    files: dict[str, Any] = {}
    for place in (won[name] for name in values):
        if place and place.key:
            files[place.key] = tuple(dict.fromkeys((*files.get(place.key, ()), place.path)))
    return values, files


def _ours(values: Mapping[str, str | None], catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    """The engine's variables, a secret's value masked: a host file is no place for it."""
    for name, value in values.items():
        if value is not None and catalogue.is_ours(name):
            yield name, mask(name, value)
