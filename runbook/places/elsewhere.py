"""Flags that another place than the script decides: edited there where the host file declares it, else refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runbook import edits
from runbook.errors import EditRefusedError
from runbook.places import origins, told
from runbook.places.reading import Files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.model import Flag, Host, Observation, Unit
    from runbook.places.origins import Origins
    from runbook.places.place import Place

# Each round mends one flag in one file; this many places that undo each other are no service's.
_ROUNDS = 200
# Which edit knows the grammar of the files of a key.
_EDITED_BY = {"drop_ins": "dropin", "env_files": "env_file", "sourced": "serve_script"}
_SET_A = "set -a;"


class Offence(NamedTuple):
    """A flag that a start of the unit would not give as wanted, and the place that is to blame; None: a file takes it away."""

    unit: Unit
    flag: Flag
    place: Place | None


class Settled(NamedTuple):
    """Every planned change of bytes by path, and with them the origins of each unit that has a script, by role."""

    after: Mapping[str, bytes | None]
    origins: Mapping[str, Origins]


def settle(host: Host, seen: Observation, after: Mapping[str, bytes | None]) -> Settled:
    """Complete the planned scripts with edits of the declared files that win over them.

    Raises EditRefusedError naming file, line, found value and what to do, where such a file is not declared.
    """
    planned = dict(after)
    for _ in range(_ROUNDS):
        traced = trace(host, seen, planned)
        offence = next(_offences(host, traced), None)
        if offence is None:
            return Settled(planned, traced)
        path, content = _mended(host, offence, Files(seen, planned))
        planned[path] = content
    raise EditRefusedError("the places of one flag keep undoing each other; set it in one place by hand")


def trace(host: Host, seen: Observation, after: Mapping[str, bytes | None]) -> dict[str, Origins]:
    """The origins of each unit with a script, by role, once `after` is written."""
    files = Files(seen, after)
    return {unit.role: origins.of(unit, host.flags, files) for unit in host.units if unit.script}


def _offences(host: Host, traced: Mapping[str, Origins]) -> Iterator[Offence]:
    for unit in host.units:
        for flag in host.flags_of(unit.role):
            found, place = traced[unit.role], traced[unit.role].winner(flag.name)
            if _as_wanted(flag, found):
                continue
            if place is not None and place.kind == "script":
                # The script's own edit has proved or refused what it exports; that leaves `K=1` of what came exported.
                place = _under(flag.name, found)
                if place is None:
                    continue
            if place is not None or flag.name not in found.unreadable:
                yield Offence(unit, flag, place)


def _under(name: str, found: Origins) -> Place | None:
    """The last place besides the script of a variable that is decided."""
    besides = [place for place in found.places[name] if place.kind != "script"]
    return besides[-1] if besides and found.tells(name) else None


def _as_wanted(flag: Flag, found: Origins) -> bool:
    if flag.name in found.unreadable:
        return False
    if flag.name not in found.values:
        return flag.value is None
    return flag.value is not None and found.values[flag.name] == flag.value


def _mended(host: Host, offence: Offence, files: Files) -> tuple[str, bytes]:
    """The file that wins and its new bytes."""
    place, flag = offence.place, offence.flag
    if place is None:
        raise EditRefusedError(
            f"{flag.name} is set, but a file that is sourced later takes it away; take that out by hand",
            path=offence.unit.script or "",
        )
    key = place.key
    if key is None or not place.declared(offence.unit):
        raise _refusal(host, offence, place, key)
    before = files.text(files.content(place.path) or b"")
    try:
        after = _edited(before, key, flag, place)
    except EditRefusedError as refused:
        raise refused.at(place.path) from refused
    if after == before:
        raise EditRefusedError(
            f"{_found(place)} wins over {offence.unit.script}; it cannot be edited safely, change it by hand",
            line=place.line, path=place.path,
        )  # fmt: skip
    return place.path, after.encode("utf-8", "surrogateescape")


def _edited(text: str, key: str, flag: Flag, place: Place) -> str:
    edit = edits.named(_EDITED_BY[key]).edit
    asked = {"set": {} if flag.value is None else {flag.name: flag.value}}
    unset = [flag.name] if flag.value is None else []
    if not place.allexport:
        return str(edit(text, **asked, unset=unset))
    # The file's plain assignments are exported only because the script reads it under `set -a`.
    edited = str(edit(_SET_A + text, **asked, unset=unset))
    return edited[len(_SET_A) :] if edited.startswith(_SET_A) else text


def _refusal(host: Host, offence: Offence, place: Place, key: str | None) -> EditRefusedError:
    flag, role = offence.flag, offence.unit.role
    found = f"{_found(place)} for {role} and wins over its script; wanted {told.wanted(flag)}"
    if key is None:
        return EditRefusedError(f"{found}. `systemctl unset-environment {flag.name}` takes it away")
    where = f"declare the file as units.{role}.{key} in {host.source} to have it edited there"
    return EditRefusedError(f"{found}. Take it out by hand, or {where}", line=place.line, path=place.path)


def _found(place: Place) -> str:
    return f"{place.kind} sets {place.name} to {place.shown}"
