"""Environment files of systemd (EnvironmentFile=), whose syntax is not shell: nothing expands, `export` is not understood."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from runbook.edits.systemd.environment_file import Entry, entries
from runbook.edits.systemd.requests import NAME, check, check_text, encodes, met, newline_of
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

NOTHING: Mapping[str, str] = MappingProxyType({})
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+\Z")


class EnvironmentFile(NamedTuple):
    """What systemd takes from the file: `values` (the last of a name counts), and each entry in order.

    `ignored` are entries whose name systemd rejects, such as `export K`.
    """

    values: Mapping[str, str]
    entries: tuple[Entry, ...]
    ignored: tuple[Entry, ...]


def edit(text: str, *, set: Mapping[str, str] = NOTHING, unset: Collection[str] = ()) -> str:
    """The file with each name of `set` given its value once, and each of `unset` taken away with its line.

    Raises EditRefusedError for what systemd would not take, and where systemd's own versions would read it differently.
    """
    check(set, unset)
    found = read(text)
    if met(found.values, set, unset):
        return text
    _refuse_unclear(found, {*set, *unset})
    keepers = {entry.name: entry for entry in found.entries if entry.name in set}
    edited = text
    for entry in reversed(found.entries):
        if entry.name in unset or entry.name in keepers:
            edited = _changed(edited, entry, set[entry.name] if keepers.get(entry.name) is entry else None)
    edited = _added(edited, {name: value for name, value in set.items() if name not in keepers})
    after = read(edited)
    _refuse_unclear(after, set)
    others = [{n: v for n, v in f.values.items() if n not in set and n not in unset} for f in (found, after)]
    if not met(after.values, set, unset) or others[0] != others[1]:
        raise EditRefusedError("could not prove the edit; edit the file by hand")
    return edited


def read(text: str) -> EnvironmentFile:
    """What systemd takes from an environment file.

    Raises EditRefusedError for an entry that is no UTF-8, for which systemd drops the whole file.
    """
    check_text(text)
    found = tuple(entries(text))
    for entry in found:
        if not encodes(entry.name + entry.value):
            raise EditRefusedError(
                "found bytes outside UTF-8, for which systemd drops the whole file; mend them first",
                line=entry.line,
            )
    valid = tuple(entry for entry in found if NAME.match(entry.name))
    ignored = tuple(entry for entry in found if not NAME.match(entry.name))
    return EnvironmentFile({entry.name: entry.value for entry in valid}, valid, ignored)


def quote(value: str) -> str:
    """A value as systemd reads it back, in double quotes when it needs them (a shell reads the same)."""
    return value if _PLAIN.match(value) else '"' + re.sub(r'(["\\`$])', r"\\\1", value) + '"'


def _refuse_unclear(found: EnvironmentFile, asked: Collection[str]) -> None:
    for entry in (*found.entries, *found.ignored):
        if not entry.closed:
            raise EditRefusedError(
                f"the quote of {entry.name} is never closed; close it first", line=entry.line
            )
        if entry.folded and entry.name in asked:
            raise EditRefusedError(
                f"{entry.name} follows a comment that ends in a backslash, which systemd before 254 takes for more "
                "comment; remove the backslash",
                line=entry.line,
            )


def _changed(text: str, entry: Entry, value: str | None) -> str:
    """The text with an entry given a value, or taken out with its line."""
    if value is not None:
        return text if value == entry.value else text[: entry.value_start] + quote(value) + text[entry.end :]
    line_start = max(text.rfind("\n", 0, entry.start), text.rfind("\r", 0, entry.start)) + 1
    following = re.compile(r"\r\n|\n|\r|\Z").match(text, entry.end)
    return text[:line_start] + text[following.end() if following else entry.end :]


def _added(text: str, wanted: Mapping[str, str]) -> str:
    """The text with new entries after the last one, or at its end."""
    if not wanted:
        return text
    newline = newline_of(text)
    lines = [f"{name}={quote(value)}" for name, value in wanted.items()]
    last = max((entry.end for entry in entries(text)), default=len(text))
    if last == len(text):
        begin = newline if text and not text.endswith(("\n", "\r")) else ""
        return text + begin + newline.join(lines) + newline
    return text[:last] + newline + newline.join(lines) + text[last:]
