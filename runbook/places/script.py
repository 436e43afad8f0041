"""Serve scripts as their units want them: flags and launch arguments, changed in one text."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from runbook import edits
from runbook.errors import EditRefusedError
from runbook.places import arguments, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from runbook.model import Argument, Flag, Host, Observation

Entry = TypeVar("Entry", "Flag", "Argument")


def planned(host: Host, seen: Observation) -> dict[str, bytes]:
    """The scripts that change and their new bytes, by path; raises EditRefusedError naming the script."""
    edited = {path: _edited(host, path, seen.files[path].content or b"") for path in host.scripts}
    return {path: after for path, after in edited.items() if after != (seen.files[path].content or b"")}


def _edited(host: Host, path: str, content: bytes) -> bytes:
    roles = host.scripts[path]
    flags = _agreed(path, (flag for role in roles for flag in host.flags_of(role)), _value)
    options = _agreed(path, (one for role in roles for one in host.unit(role).args), _words)
    try:
        text = _with_flags(content.decode("utf-8", "surrogateescape"), flags)
        return _with_arguments(text, options).encode("utf-8", "surrogateescape")
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


def _with_flags(text: str, flags: Sequence[Flag]) -> str:
    return str(
        edits.named("serve_script").edit(
            text,
            set={flag.name: flag.value for flag in flags if flag.value is not None},
            unset=[flag.name for flag in flags if flag.value is None],
        )
    )


def _with_arguments(text: str, wanted: Sequence[Argument]) -> str:
    if not wanted:
        return text
    return str(
        edits.named("launch_args").edit(
            text,
            set={one.name: one.value for one in wanted if one.words is not None},
            unset=[one.name for one in wanted if one.words is None],
        )
    )
