"""Serve scripts as their units want them: flags and launch arguments, changed in one text."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from runbook import edits
from runbook.errors import EditRefusedError
from runbook.places import arguments, origins, place
from runbook.places.reading import Files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from runbook.model import Argument, Flag, Host, Observation, Unit

Entry = TypeVar("Entry", "Flag", "Argument")


def planned(host: Host, seen: Observation) -> dict[str, bytes]:
    """The scripts that change and their new bytes, by path; raises EditRefusedError naming the script.

    A value that a declared file besides the script gives stays that file's to give: `elsewhere.settle` changes it there.
    """
    given = _given(host, seen)
    edited = {path: _edited(host, path, seen.files[path].content or b"", given) for path in host.scripts}
    return {path: after for path, after in edited.items() if after != (seen.files[path].content or b"")}


def _given(host: Host, seen: Observation) -> dict[str, frozenset[str]]:
    """By role, the wanted flags that are a declared file's to give, and not the script's."""
    declaring = [
        unit for unit in host.units if unit.script and (unit.env_files or unit.drop_ins or unit.sourced)
    ]
    return {unit.role: frozenset(_given_to(host, unit, seen)) for unit in declaring}


def _given_to(host: Host, unit: Unit, seen: Observation) -> Iterator[str]:
    """Flags that such a file gives as wanted already, or that the script does not set at all."""
    found = origins.of(unit, host.flags, Files(seen))
    for flag in host.flags_of(unit.role):
        won = found.winner(flag.name)
        if flag.value is not None and won and won.declared(unit):
            scripted = any(each.kind == "script" for each in found.places[flag.name])
            if not scripted or found.values.get(flag.name) == flag.value:
                yield flag.name


def _kept_elsewhere(flag: Flag, roles: Sequence[str], given: Mapping[str, frozenset[str]]) -> bool:
    """Whether that holds for every unit that runs the script."""
    return all(flag.name in given.get(role, ()) for role in roles if role in flag.units)


def _edited(host: Host, path: str, content: bytes, given: Mapping[str, frozenset[str]]) -> bytes:
    roles = host.scripts[path]
    flags = _agreed(path, (flag for role in roles for flag in host.flags_of(role)), _value)
    flags = tuple(flag for flag in flags if not _kept_elsewhere(flag, roles, given))
    options = _agreed(path, (one for role in roles for one in host.unit(role).args), _words)
    try:
        kind = edits.script_kind(path)
        text = _with_flags(kind, content.decode("utf-8", "surrogateescape"), flags)
        return _with_arguments(kind, text, options).encode("utf-8", "surrogateescape")
    except EditRefusedError as refused:
        raise refused.at(path) from refused


def _agreed(path: str, entries: Iterable[Entry], wanted: Callable[[Entry], str]) -> tuple[Entry, ...]:
    """Flags or arguments, each name once; units that share a script must agree."""
    found: dict[str, Entry] = {}
    for entry in entries:
        one, two = wanted(found.setdefault(entry.name, entry)), wanted(entry)
        if one != two:
            raise EditRefusedError(f"{entry.name} is wanted as {one} and {two}", path=path)
    return tuple(found.values())


def _value(flag: Flag) -> str:
    return place.shown(flag.name, flag.value)


def _words(argument: Argument) -> str:
    return arguments.shown(argument.words)


def _with_flags(kind: str, text: str, flags: Sequence[Flag]) -> str:
    return str(
        edits.named(kind).edit(
            text,
            set={flag.name: flag.value for flag in flags if flag.value is not None},
            unset=[flag.name for flag in flags if flag.value is None],
        )
    )


def _with_arguments(kind: str, text: str, wanted: Sequence[Argument]) -> str:
    if not wanted:
        return text
    if kind != edits.SHELL:
        raise EditRefusedError(f"launch arguments such as {wanted[0].name} are edited in shell scripts alone")
    return str(
        edits.named("launch_args").edit(
            text,
            set={one.name: one.value for one in wanted if one.words is not None},
            unset=[one.name for one in wanted if one.words is None],
        )
    )
