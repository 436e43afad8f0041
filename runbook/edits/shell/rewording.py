"""Rewording: what becomes of a launching command's words, so that its options are those asked for, or why nothing may."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runbook.edits.shell import options, spellings
from runbook.edits.shell.words import quote
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from runbook.edits.shell.options import Place
    from runbook.edits.shell.words import Word


class Command(NamedTuple):
    """The launching command's words, without wrappers; at the positions `loose` only a run can tell what stands."""

    words: tuple[Word, ...]
    loose: tuple[int, ...]


class Draft(NamedTuple):
    """What becomes of the words: new spellings by position, positions to take out, and words to add at the end."""

    spelt: dict[int, str]
    gone: frozenset[int]
    added: tuple[str, ...] = ()


def plan(command: Command, wanted: Mapping[str, str | None], unwanted: Collection[str]) -> Draft:
    """What gives the command each option of `wanted` (None: the bare flag) and takes each of `unwanted` away.

    Raises EditRefusedError, with the line, where only a run can tell what the words are.
    """
    spelt: dict[int, str] = {}
    gone: set[int] = set()
    added: list[str] = []
    for name in (*unwanted, *wanted):
        places = _places(command.words, name)
        _refuse_short(command.words, name, after=places[-1].at if places and name in wanted else 0)
        if name in unwanted:
            _refuse_hidden(command, name, after=0)
            _refuse_switches(command.words, name, places)
            gone |= {at for place in places for at in place.span}
        elif not places:
            _refuse_hidden(command, name, after=0)
            added.append(_option(name, wanted[name]))
        elif not _right(command.words, places[-1], wanted[name]):
            _refuse_hidden(command, name, after=places[-1].at)
            spelt |= _spelling(command.words, places[-1], wanted[name])
            gone |= {at for place in places for at in place.span if at not in spelt}
    return Draft(spelt, frozenset(gone), tuple(added))


def _places(words: Sequence[Word], name: str) -> list[Place]:
    option = spellings.option(name)
    return [p for p in options.places(words) if spellings.option(options.name_of(words[p.at])) == option]


def _right(words: Sequence[Word], place: Place, value: str | None) -> bool:
    option = options.described(words, place)
    return option.value == value and option.given == (value is not None)


def _refuse_hidden(command: Command, name: str, *, after: int) -> None:
    """Refuse where words after a position may hold the option too."""
    hidden = [command.words[at] for at in command.loose if at > after]
    if hidden:
        variable = re.fullmatch(r"\$\{?\w+\}?", hidden[0].raw) and not options.splits(hidden[0])
        one = ", or quote it where it is one argument" if variable else ""
        raise EditRefusedError(
            f"{hidden[0].raw} may hold {name} too, which only a run can tell; write the arguments out{one}",
            line=hidden[0].line,
        )


def _refuse_short(words: Sequence[Word], name: str, *, after: int) -> None:
    """Refuse where an option after a position may be the same one, its name cut short."""
    for place in options.places(words):
        written = options.name_of(words[place.at])
        if place.at > after and spellings.may_shorten(written, name):
            raise EditRefusedError(
                f"{written} may be short for {name}; write it out first", line=words[place.at].line
            )


def _refuse_switches(words: Sequence[Word], name: str, places: Sequence[Place]) -> None:
    """Refuse to take out what stands behind an option that by its name takes no value: it may be the model."""
    for place in places:
        if place.values and options.SWITCH.match(name):
            raise _unclear(words, place, name)


def _option(name: str, value: str | None) -> str:
    if value is None:
        return name
    return f"{name}={quote(value)}" if value.startswith("-") else f"{name} {quote(value)}"


def _spelling(words: Sequence[Word], place: Place, value: str | None) -> dict[int, str]:
    """New spellings for an option's words; a word of its that has none goes."""
    name = options.name_of(words[place.at])
    if place.values > 1 or (value is None and place.values):
        raise _unclear(words, place, name)
    if value is None:
        return {place.at: name}
    if place.joined or value.startswith("-"):
        return {place.at: f"{name}={quote(value)}"}
    if place.values:
        return {place.at: words[place.at].raw, place.at + 1: quote(value)}
    return {place.at: f"{name} {quote(value)}"}


def _unclear(words: Sequence[Word], place: Place, name: str) -> EditRefusedError:
    given = " ".join(word.raw for word in words[place.at + 1 : place.span.stop])
    return EditRefusedError(
        f"{name} is followed by {given}, which may or may not belong to it; edit it by hand",
        line=words[place.at].line,
    )
