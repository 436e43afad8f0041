"""Launch arguments: the options on a serve script's launching command line, changed with the same care as its exports."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from runbook.edits.shell import launch as launches
from runbook.edits.shell import parser
from runbook.edits.shell.removal import lead
from runbook.edits.shell.reparse import reparse
from runbook.edits.shell.script import parse
from runbook.edits.shell.splices import Splice, apply
from runbook.edits.shell.words import quote
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from runbook.edits.shell.launch import Launch
    from runbook.edits.shell.script import Script
    from runbook.edits.shell.words import Word

NOTHING: Mapping[str, str | None] = MappingProxyType({})
_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9_.-]*\Z")
_SEVERAL = re.compile(r"[@*]|(?i:args|opts|options|flags|extra)")


@dataclass(frozen=True, slots=True)
class Option:
    """One option as given: `--x 1`, `--x=1` or `--x` alone (`value` None and not `given`).

    `value` is None and `given` true where only a run can tell the value.
    """

    name: str
    value: str | None
    given: bool
    line: int


@dataclass(frozen=True, slots=True)
class _Found:
    """An option's words: position of its name, and how many words of values follow."""

    at: int
    values: int
    joined: bool


@dataclass(frozen=True, slots=True)
class _Draft:
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
    with parser.second_opinion(source):
        script = parse(source)
    launch = _launch(script)
    draft = _planned(launch, set, unset)
    splices = _splices(source, launch, draft)
    if not splices:
        return text
    edited = apply(source, splices)
    with parser.second_opinion(edited):
        after = reparse(script, splices)
    _prove(launch, _launch(after), draft)
    return parser.decode(edited)


def read(text: str) -> tuple[Option, ...]:
    """The options of the launching command, in order. Raises EditRefusedError where there is no such command."""
    source = parser.encode(text)
    parser.refuse_foreign(source)
    words = _launch(parse(source)).argv
    return tuple(_described(words, found) for found in _options(words))


def _refuse_names(wanted: Mapping[str, str | None], unwanted: Collection[str]) -> None:
    for name in (*wanted, *unwanted):
        if not _OPTION.match(name):
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
    return found


def _options(words: Sequence[Word]) -> Iterator[_Found]:
    """The options among the launched command's words, up to `--`."""
    at = 1
    while at < len(words) and words[at].text != "--":
        name = _name(words[at])
        values = _values(words, at) if name and "=" not in words[at].raw else 0
        if name:
            yield _Found(at, values, "=" in words[at].raw)
        at += 1 + values


def _name(word: Word) -> str:
    """The option a word names, or nothing."""
    head = (word.text if word.text is not None else word.raw).partition("=")[0]
    return head if _OPTION.match(head) else ""


def _values(words: Sequence[Word], at: int) -> int:
    """How many words after an option's name are its values."""
    count = 0
    for word in words[at + 1 :]:
        if _splits(word) or ((word.text or "").startswith("-") and not re.match(r"-[0-9.]", word.text or "")):
            break
        count += 1
    return count


def _splits(word: Word) -> bool:
    """Whether a dynamic word may stand for several, or for none."""
    quoted = word.raw.startswith('"') and word.raw.endswith('"')
    if word.text is not None or _name(word):
        return False
    return bool(re.search(r"\[@\]|\$@|\$\{@", word.raw)) if quoted else bool(_SEVERAL.search(word.raw))


def _described(words: Sequence[Word], found: _Found) -> Option:
    word = words[found.at]
    if found.joined:
        return Option(
            _name(word), None if word.text is None else word.text.partition("=")[2], True, word.line
        )
    texts = [value.text for value in words[found.at + 1 : found.at + 1 + found.values]]
    known = [text for text in texts if text is not None]
    value = " ".join(known) if texts and len(known) == len(texts) else None
    return Option(_name(word), value, bool(texts), word.line)


def _planned(launch: Launch, wanted: Mapping[str, str | None], unwanted: Collection[str]) -> _Draft:
    spelt: dict[int, str] = {}
    gone: set[int] = set()
    added: list[str] = []
    options = list(_options(launch.argv))
    for name in (*unwanted, *wanted):
        places = [found for found in options if _name(launch.argv[found.at]) == name]
        value = wanted.get(name)
        if name in unwanted or not places:
            _refuse_hidden(launch, name, after=0, needed=bool(places) or name in wanted or _hides(launch, 0))
        if name in unwanted:
            gone |= {at for found in places for at in _span(found)}
        elif not places:
            added.append(_option(name, value))
        elif not _right(launch.argv, places[-1], value):
            _refuse_hidden(launch, name, after=places[-1].at, needed=True)
            gone |= {at for found in places[:-1] for at in _span(found)}
            spelt |= _spelling(launch.argv, places[-1], name, value)
            gone |= {at for at in _span(places[-1])[1:] if at not in spelt}
    return _Draft(spelt, frozenset(gone), tuple(added))


def _span(found: _Found) -> range:
    return range(found.at, found.at + 1 + found.values)


def _right(words: Sequence[Word], found: _Found, value: str | None) -> bool:
    option = _described(words, found)
    return option.value == value and option.given == (value is not None)


def _hides(launch: Launch, after: int) -> bool:
    return any(_splits(word) for word in launch.argv[after + 1 :])


def _refuse_hidden(launch: Launch, name: str, *, after: int, needed: bool) -> None:
    """Refuse where words after a position may hold the option too."""
    hidden = [word for word in launch.argv[after + 1 :] if _splits(word)]
    if needed and hidden:
        raise EditRefusedError(
            f"{hidden[0].raw} may hold {name} too, which only a run can tell; write the arguments out",
            line=hidden[0].line,
        )


def _option(name: str, value: str | None) -> str:
    if value is None:
        return name
    return f"{name}={quote(value)}" if value.startswith("-") else f"{name} {quote(value)}"


def _spelling(words: Sequence[Word], found: _Found, name: str, value: str | None) -> dict[int, str]:
    """New spellings for an option's words; its other value words go."""
    if found.values > 1:
        raise EditRefusedError(
            f"{name} is given {found.values} values; edit it by hand", line=words[found.at].line
        )
    if value is None:
        return {found.at: name}
    if found.joined or value.startswith("-"):
        return {found.at: f"{name}={quote(value)}"}
    return {found.at + 1: quote(value)} if found.values else {found.at: f"{name} {quote(value)}"}


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
