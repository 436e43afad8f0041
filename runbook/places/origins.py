"""Where the environment of one unit's processes comes from: every place, what comes of them, and which wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runbook import edits
from runbook.edits.shell.words import quote
from runbook.errors import EditRefusedError
from runbook.places import arguments, names, systemd
from runbook.places.arguments import NO_SCRIPT, Arguments
from runbook.places.flat import Flat, Origin, flat
from runbook.places.place import Place

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping, Sequence

    from runbook.edits.serve_script import ScriptEnvironment
    from runbook.model import Flag, Observation, Unit
    from runbook.places.reading import Files

ANY = "*"  # in `unreadable`: any name may be concerned
_NOWHERE = Origin("", 0)


class Origins(NamedTuple):
    """What a start of the unit would give its processes.

    `places` maps a name to the places that set it in rising precedence; `values` to what comes of them, None where only
    a run can tell, and `unreadable` to why it cannot be decided. `unread` are files that might say more, with the reason.
    Of systemd's variables only followed ones are here, of the script's all; `given` names every one of systemd's.
    `arguments` are those of the script's launch.
    """

    places: Mapping[str, tuple[Place, ...]] = {}
    values: Mapping[str, str | None] = {}
    unreadable: Mapping[str, str] = {}
    unread: tuple[str, ...] = ()
    fed_by: tuple[str, ...] = ()
    arguments: Arguments = NO_SCRIPT
    given: frozenset[str] = frozenset()

    def winner(self, name: str) -> Place | None:
        """The place whose value the processes get; None where none does."""
        reached = name in self.values or name in self.unreadable
        return self.places[name][-1] if reached and self.places.get(name) else None

    def tells(self, name: str) -> bool:
        """Whether the value, or that there is none, is decided."""
        return name not in self.unreadable and self.values.get(name, "") is not None

    @property
    def any_name(self) -> bool:
        """Whether something may set any name, which only a run can tell: an eval, a file that could not be read."""
        return ANY in self.unreadable or bool(self.unread)

    def gives_elsewhere(self, name: str) -> bool:
        """Whether a start has such a variable although no script sets it: from systemd, followed or not, or from a shell."""
        return name in self.given or names.is_ambient(name)

    def environment(self, flags: Iterable[Flag]) -> dict[str, str | None]:
        """Name → literal value, and None for each of the flags that is absent."""
        undecided = self.values.keys() | self.unreadable.keys()
        absent: dict[str, str | None] = {flag.name: None for flag in flags if flag.name not in undecided}
        return absent | {name: value for name, value in self.values.items() if value is not None}


def of(unit: Unit, flags: Sequence[Flag], files: Files) -> Origins:
    """The origins of a unit's environment; raises EditRefusedError, naming the file, for a script that cannot be read."""
    seen: Observation = files.seen
    properties = seen.units[unit.name].properties if unit.name in seen.units else {}
    followed = names.followed(flag.name for flag in flags)
    found = systemd.given(properties, files)
    given = frozenset(place.name for place in found.places)
    from_systemd = [place for place in found.places if followed.fullmatch(place.name)]
    listed = [path for path, _ in systemd.environment_files(properties, files.known)]
    fed_by = (*systemd.unit_files(properties), *listed)
    content = files.content(unit.script) if unit.script else None
    if unit.script is None or content is None:
        values = {place.name: place.value for place in from_systemd}
        return Origins(_by_name(from_systemd), values, {}, found.unread, fed_by, given=given)
    through = _through_script(unit.script, content, files, followed, (from_systemd, found.unread, fed_by))
    return through._replace(given=given)


def _through_script(
    path: str,
    content: bytes,
    files: Files,
    followed: re.Pattern[str],
    before: tuple[list[Place], tuple[str, ...], tuple[str, ...]],
) -> Origins:
    from_systemd, unread, fed_by = before
    own = read_script(path, content)
    if edits.script_kind(path) != edits.SHELL:
        return _laid_over(path, content, own, before)
    whole = (
        flat(path, content, own, files, followed) if own.sourced else Flat(content, _origins(path, content))
    )
    final = _read_whole(path, whole, {place.name: place.value for place in from_systemd}, own)
    names_ = {*own.values, *(name for name in final[0].values if followed.fullmatch(name))}
    sourced = dict.fromkeys(origin.path for origin in whole.origins if origin.sourced)
    return Origins(
        places=_by_name([*from_systemd, *_script_places(*final)]),
        values={name: value for name, value in final[0].values.items() if name in names_},
        unreadable=final[0].unreadable,
        unread=(*unread, *_hidden(path, own), *whole.unread),
        fed_by=(*fed_by, path, *sourced),
        arguments=arguments.of_script(content),
    )


def _laid_over(
    path: str,
    content: bytes,
    own: ScriptEnvironment,
    before: tuple[list[Place], tuple[str, ...], tuple[str, ...]],
) -> Origins:
    """A launch file that no shell reads: it sources nothing, and what it sets lies on top of what systemd gives."""
    from_systemd, unread, fed_by = before
    return Origins(
        places=_by_name([*from_systemd, *_script_places(own, _origins(path, content))]),
        values={place.name: place.value for place in from_systemd} | dict(own.values),
        unreadable=own.unreadable,
        unread=(*unread, *_hidden(path, own)),
        fed_by=(*fed_by, path),
    )


def _hidden(path: str, own: ScriptEnvironment) -> tuple[str, ...]:
    """What may set any name, such as an eval."""
    return (f"{path}: {own.unreadable[ANY]}",) if ANY in own.unreadable else ()


def read_script(path: str, content: bytes) -> ScriptEnvironment:
    """What a serve script gives its launch by itself; raises EditRefusedError naming the file."""
    try:
        found: ScriptEnvironment = edits.named(edits.script_kind(path)).read(
            content.decode("utf-8", "surrogateescape")
        )
        return found
    except EditRefusedError as refused:
        raise refused.at(path) from refused


def _read_whole(
    path: str, whole: Flat, given: Mapping[str, str | None], own: ScriptEnvironment
) -> tuple[ScriptEnvironment, tuple[Origin, ...]]:
    """The flat script as a start runs it, on top of what systemd gives; and the origins of its lines."""
    if not given and not any(origin.sourced for origin in whole.origins):
        return own, whole.origins
    shebang, newline, rest = whole.content.partition(b"\n")
    if not whole.content.startswith(b"#!"):
        shebang, newline, rest = b"", b"", whole.content
    first = 1 if newline else 0
    exports = "".join(f"export {name}={_word(name, value)}\n" for name, value in given.items())
    composed = shebang + newline + exports.encode("utf-8", "surrogateescape") + rest
    nowhere = (_NOWHERE,) * exports.count("\n")
    origins = (*whole.origins[:first], *nowhere, *whole.origins[first:])
    return read_script(path, composed), origins


def _word(name: str, value: str | None) -> str:
    return f'"${name}"' if value is None else quote(value)


def _origins(path: str, content: bytes) -> tuple[Origin, ...]:
    return tuple(Origin(path, number) for number in range(1, content.count(b"\n") + 2))


def _script_places(read: ScriptEnvironment, origins: Sequence[Origin]) -> list[Place]:
    """The script's and the sourced files' assignments that reach the launch, in order."""
    reaching = read.values.keys() | read.unreadable.keys()
    found = []
    for each in read.assignments:
        origin = origins[each.line - 1]
        if each.name in reaching and origin is not _NOWHERE:
            kind = "sourced file" if origin.sourced else "script"
            found.append(Place(kind, each.name, each.value, origin.path, origin.line, origin.allexport))  # type: ignore[arg-type]
    return found


def _by_name(places: Iterable[Place]) -> dict[str, tuple[Place, ...]]:
    found: dict[str, list[Place]] = {}
    for place in places:
        found.setdefault(place.name, []).append(place)
    return {name: tuple(each) for name, each in found.items()}
