"""Launch arguments: the options on a serve script's launching command line, changed with the same care as its exports."""

from __future__ import annotations

import itertools
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from runbook.edits.shell import launch as launches
from runbook.edits.shell import loose, options, parser
from runbook.edits.shell.removal import lead
from runbook.edits.shell.reparse import reparse
from runbook.edits.shell.script import parse
from runbook.edits.shell.splices import Splice, apply
from runbook.edits.shell.words import quote
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from runbook.edits.shell.launch import Launch
    from runbook.edits.shell.options import Option, Place
    from runbook.edits.shell.script import Script
    from runbook.edits.shell.words import Word

NOTHING: Mapping[str, str | None] = MappingProxyType({})


class Command(NamedTuple):
    """The launching command's words, without wrappers; at the positions `loose` only a run can tell what stands."""

    words: tuple[Word, ...]
    loose: tuple[int, ...]


class _Draft(NamedTuple):
    """What becomes of the words: new spellings by position, positions to take out, and words to add at the end."""

    spelt: dict[int, str]
    gone: frozenset[int]
    added: tuple[str, ...] = ()


def edit(text: str, *, set: Mapping[str, str | None] = NOTHING, unset: Collection[str] = ()) -> str:
    """The script with each option of `set` given its value (None: the bare flag) and each of `unset` taken away.

    Of a repeated option the last counts, and only it is left. Raises EditRefusedError, with the line, where there is
    no launching command to own, or where words known only at run time (`"${ARGS[@]}"`) may hold the option.
    """
    _refuse_names(set, unset)
    source = parser.encode(text)
    parser.refuse_foreign(source)
    script = parse(source)
    launch = _launch(script)
    draft = _planned(_command(script, launch), set, unset)
    splices = _splices(source, launch, draft)
    if not splices:
        return text
    with parser.second_opinion(source):
        pass
    edited = apply(source, splices)
    with parser.second_opinion(edited):
        after = reparse(script, splices)
    _prove(launch, _launch(after), draft)
    return parser.decode(edited)


def read(text: str) -> tuple[Option, ...]:
    """The options of the launching command, in order. Raises EditRefusedError where there is no such command."""
    words = command(text).words
    return tuple(options.described(words, found) for found in options.places(words))


def command(text: str) -> Command:
    """The launching command. Raises EditRefusedError where there is no such command."""
    source = parser.encode(text)
    parser.refuse_foreign(source)
    script = parse(source)
    return _command(script, _launch(script))


def _command(script: Script, launch: Launch) -> Command:
    return Command(launch.argv, loose.find(launch.argv, loose.texts(script)))


def _refuse_names(wanted: Mapping[str, str | None], unwanted: Collection[str]) -> None:
    for name in (*wanted, *unwanted):
        if not options.NAME.match(name):
            raise EditRefusedError(
                f"{name!r} is no option; write it with its dashes, for example --mem-fraction-static"
            )
        if name in wanted and name in unwanted:
            raise EditRefusedError(f"{name} is both set and unset; ask for one of them")
    for name, value in wanted.items():
        if value is not None and "\0" in value:
            raise EditRefusedError(f"the value of {name} holds a NUL, which no argument can carry")


def _launch(script: Script) -> Launch:
    found = launches.find(script.statements)
    if found is None:
        raise EditRefusedError(
            "found no command that launches a server; expected one like `exec python -m …`"
        )
    if not found.argv:
        where = found.where or "wrappers only"
        raise EditRefusedError(f"the launch stands under {where}; move it to the top level", line=found.line)
    _refuse_indirect(script, found)
    return found


def _refuse_indirect(script: Script, launch: Launch) -> None:
    """Refuse where the words are not the server's own: they go to a function, or to another shell."""
    called = launch.argv[0].text
    if any(called in statement.functions for statement in script.statements):
        raise EditRefusedError(
            f"the launch stands in the function {called}; move it to the top level", line=launch.line
        )
    for rival in launch.rivals:
        if not rival.another:
            raise EditRefusedError(
                "the script launches this program more than once; edit its arguments by hand", line=rival.line
            )
    if launch.told or launch.unclear:
        what = launch.unclear or f"the text given to {called}"
        raise EditRefusedError(
            f"only a run can tell what {what} launches; write the command out", line=launch.line
        )


def _planned(command: Command, wanted: Mapping[str, str | None], unwanted: Collection[str]) -> _Draft:
    spelt: dict[int, str] = {}
    gone: set[int] = set()
    added: list[str] = []
    for name in (*unwanted, *wanted):
        places = _places(command.words, name)
        if name in unwanted:
            _refuse_hidden(command, name, after=0)
            _refuse_switches(command.words, name, places)
            gone |= {at for place in places for at in place.span}
        elif not places:
            _refuse_hidden(command, name, after=0)
            added.append(_option(name, wanted[name]))
        elif not _right(command.words, places[-1], wanted[name]):
            _refuse_hidden(command, name, after=places[-1].at)
            spelt |= _spelling(command.words, places[-1], name, wanted[name])
            gone |= {at for place in places for at in place.span if at not in spelt}
    return _Draft(spelt, frozenset(gone), tuple(added))


def _places(words: Sequence[Word], name: str) -> list[Place]:
    return [place for place in options.places(words) if options.name_of(words[place.at]) == name]


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


def _refuse_switches(words: Sequence[Word], name: str, places: Sequence[Place]) -> None:
    """Refuse to take out what stands behind an option that by its name takes no value: it may be the model."""
    for place in places:
        if place.values and options.SWITCH.match(name):
            raise _unclear(words, place, name)


def _option(name: str, value: str | None) -> str:
    if value is None:
        return name
    return f"{name}={quote(value)}" if value.startswith("-") else f"{name} {quote(value)}"


def _spelling(words: Sequence[Word], place: Place, name: str, value: str | None) -> dict[int, str]:
    """New spellings for an option's words; a word of its that has none goes."""
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


def _splices(source: bytes, launch: Launch, draft: _Draft) -> list[Splice]:
    words = launch.argv
    splices = [
        Splice(*words[at].span, _bytes(text)) for at, text in draft.spelt.items() if text != words[at].raw
    ]
    splices += [
        Splice(lead(source, words[at - 1].span[1], words[at].span[0]), words[at].span[1])
        for at in sorted(draft.gone)
    ]
    if draft.added:
        end = _end(words)
        gap = _gap(source, words, end)
        splices.append(Splice(end, end, b"".join(gap + _bytes(option) for option in draft.added)))
    return splices


def _end(words: Sequence[Word]) -> int:
    """Where new options go: after the last word, or before `--`."""
    last = next((at for at, word in enumerate(words) if word.text == "--" and at), len(words))
    return words[last - 1].span[1]


def _gap(source: bytes, words: Sequence[Word], end: int) -> bytes:
    """What stands between words: the last continuation of the command, or a blank."""
    pieces = [
        source[before.span[1] : word.span[0]]
        for before, word in itertools.pairwise(words)
        if word.span[1] <= end and re.fullmatch(rb"[ \t]*\\\n[ \t]*", source[before.span[1] : word.span[0]])
    ]
    return pieces[-1] if pieces else b" "


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _prove(before: Launch, after: Launch, draft: _Draft) -> None:
    """The words must be what was drafted, and no other."""
    kept = [draft.spelt.get(at, word.raw) for at, word in enumerate(before.argv) if at not in draft.gone]
    stop = next((at for at, word in enumerate(kept) if word == "--" and at), len(kept))
    expected = " ".join([*kept[:stop], *draft.added, *kept[stop:]])
    if " ".join(word.raw for word in after.argv) != expected:
        raise EditRefusedError(
            "could not prove the edit of the launch arguments; edit them by hand", line=before.line
        )
