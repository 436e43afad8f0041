"""`Environment=` in unit files and drop-ins, with systemd's quoting; after such an edit systemd needs a daemon-reload."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from runbook.edits.systemd.requests import NAME, check, check_text, met, newline_of
from runbook.edits.systemd.unit_file import parse, quote, words
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from runbook.edits.systemd.unit_file import Setting, Word

NOTHING: Mapping[str, str] = MappingProxyType({})


class Assignment(NamedTuple):
    """One `name=value` of an `Environment=` line; `value` is None where a specifier (`%h`) decides it."""

    name: str
    value: str | None
    line: int
    word: Word
    setting: Setting


class DropIn(NamedTuple):
    """What a unit file or drop-in says of the environment.

    `values` is what its `Environment=` lines leave, None where a specifier decides. `resets`: an empty `Environment=`
    drops what files read before this one set. `files` are its EnvironmentFile= paths, `removed` the names its
    UnsetEnvironment= takes away, with their lines, `passed` those its PassEnvironment= takes from the manager. `cleared`
    are the keys of lists that it empties, as `resets` says of `Environment`. `unread` are lines systemd cannot read to
    their end, `unnamed` maps names that a specifier decides to theirs.
    """

    values: Mapping[str, str | None]
    assignments: tuple[Assignment, ...]
    resets: bool
    files: tuple[str, ...]
    removed: Mapping[str, int]
    passed: Mapping[str, int]
    cleared: frozenset[str]
    unread: tuple[int, ...]
    unnamed: Mapping[str, int]


def edit(text: str, *, set: Mapping[str, str] = NOTHING, unset: Collection[str] = ()) -> str:
    """The file with each name of `set` given its value once in [Service], and each of `unset` taken away.

    Raises EditRefusedError where the file itself takes the name away, or has a line systemd cannot read.
    """
    check(set, unset)
    found = read(text)
    _refuse(found, set)
    if met(found.values, set, unset):
        return text
    if found.unread:
        raise EditRefusedError(
            "systemd cannot read this line to its end; mend its quotes first", line=found.unread[0]
        )
    edited = _applied(text, [*_removed(text, found, set, unset), *_rewritten(found, set)])
    edited = _added(edited, {name: value for name, value in set.items() if name not in found.values})
    after = read(edited)
    others = [{n: v for n, v in f.values.items() if n not in set and n not in unset} for f in (found, after)]
    if not met(after.values, set, unset) or others[0] != others[1] or found.resets != after.resets:
        raise EditRefusedError("could not prove the edit; edit the file by hand")
    return edited


def read(text: str) -> DropIn:
    """What a unit file or drop-in says of the environment of its service."""
    check_text(text)
    settings, _ = parse(text)
    service = [setting for setting in settings if setting.section == "Service"]
    environment = [setting for setting in service if setting.key == "Environment"]
    resets = [position for position, setting in enumerate(environment) if not setting.value]
    current = environment[resets[-1] + 1 :] if resets else environment
    assignments = tuple(assignment for setting in current for assignment in _assignments(setting))
    return DropIn(
        values={assignment.name: assignment.value for assignment in assignments},
        assignments=assignments,
        resets=bool(resets),
        files=tuple(
            setting.value for setting in service if setting.key == "EnvironmentFile" and setting.value
        ),
        removed=_listed(service, "UnsetEnvironment"),
        passed=_listed(service, "PassEnvironment"),
        cleared=frozenset(setting.key for setting in service if not setting.value),
        unread=tuple(setting.line for setting in environment if not words(setting)[1]),
        unnamed=dict(_unnamed(current)),
    )


_Splice = tuple[int, int, str]


def _applied(text: str, splices: Sequence[_Splice]) -> str:
    for start, end, new in sorted(splices, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _rewritten(found: DropIn, wanted: Mapping[str, str]) -> Iterator[_Splice]:
    """The last assignment of each wanted name, where its value is another."""
    for name, assignment in {a.name: a for a in found.assignments}.items():
        if name in wanted and assignment.value != wanted[name]:
            yield assignment.word.start, assignment.word.end, quote(f"{name}={wanted[name]}")


def _removed(
    text: str, found: DropIn, wanted: Mapping[str, str], unwanted: Collection[str]
) -> Iterator[_Splice]:
    """Unwanted names and repetitions of wanted ones; a line left empty goes, for alone it would reset everything."""
    last = {assignment.name: assignment for assignment in found.assignments}
    gone: dict[int, tuple[Setting, list[Word]]] = {}
    for assignment in found.assignments:
        repeated = assignment.name in wanted and last[assignment.name] is not assignment
        if assignment.name in unwanted or repeated:
            gone.setdefault(assignment.setting.start, (assignment.setting, []))[1].append(assignment.word)
    for setting, taken in gone.values():
        every, starts = words(setting)[0], {word.start for word in taken}
        stays = next((at for at, word in enumerate(every) if word.start not in starts), None)
        if stays is None:
            yield setting.start, setting.end, ""
        else:
            places = (at for at, word in enumerate(every) if word.start in starts)
            yield from (_word_removed(text, every, at, stays) for at in places)


def _word_removed(text: str, every: Sequence[Word], at: int, stays: int) -> _Splice:
    """A word with the blanks before it, or after it where it comes before `stays`, the first that does."""
    word = every[at]
    if at < stays:
        start, end = word.start, every[at + 1].start
        between = text[word.end : end]
    else:
        start, end = every[at - 1].end, word.end
        between = text[start : word.start]
    comments = re.search(r"^[ \t]*[#;]", between, re.MULTILINE)
    return (word.start, word.end, "") if comments else (start, end, "")


def _added(text: str, wanted: Mapping[str, str]) -> str:
    """The text with a line for each name after the last `Environment=` of [Service], else at that section's end."""
    if not wanted:
        return text
    newline = newline_of(text)
    lines = "".join(f"Environment={quote(f'{name}={value}')}{newline}" for name, value in wanted.items())
    settings, sections = parse(text)
    service = [setting for setting in settings if setting.section == "Service"]
    ends = [setting.end for setting in service if setting.key == "Environment"] or [s.end for s in service]
    headers = [section.after for section in sections if section.name == "Service"]
    at = max(ends or headers, default=None)
    if at is None:
        at, lines = len(text), f"{newline if text.strip() else ''}[Service]{newline}{lines}"
    begin = newline if at and not text[:at].endswith(("\n", "\r")) else ""
    return text[:at] + begin + lines + text[at:]


def _assignments(setting: Setting) -> Iterator[Assignment]:
    found, _ = words(setting)
    for word in found:
        name, equals, value = word.text.partition("=")
        if equals and NAME.match(name):
            yield Assignment(name, _resolved(value), setting.line, word, setting)


def _unnamed(settings: Sequence[Setting]) -> Iterator[tuple[str, int]]:
    for setting in settings:
        for word in words(setting)[0]:
            name, equals, _ = word.text.partition("=")
            if equals and _resolved(name) is None:
                yield name, setting.line


def _resolved(value: str) -> str | None:
    """The value with `%%` read as `%`; None where a specifier stands in it."""
    if re.search(r"(?<!%)(?:%%)*%[A-Za-z]", value):
        return None
    return value.replace("%%", "%")


def _listed(settings: Sequence[Setting], key: str) -> dict[str, int]:
    """The names a list setting leaves, with their lines; an empty one drops those before it."""
    names: dict[str, int] = {}
    for setting in settings:
        if setting.key == key:
            names = (
                {**names, **{word.text: setting.line for word in words(setting)[0]}} if setting.value else {}
            )
    return names


def _refuse(found: DropIn, wanted: Mapping[str, str]) -> None:
    for name, value in wanted.items():
        line = found.removed.get(name) or found.removed.get(f"{name}={value}")
        if line:
            raise EditRefusedError(f"UnsetEnvironment= takes {name} away; remove it there first", line=line)
