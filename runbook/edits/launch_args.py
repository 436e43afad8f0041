"""Launch arguments: the options on a serve script's launching command line, changed with the same care as its exports."""

from __future__ import annotations

import itertools
import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from runbook.edits.shell import launch as launches
from runbook.edits.shell import loose, options, parser, rewording, spellings
from runbook.edits.shell.removal import lead
from runbook.edits.shell.reparse import reparse
from runbook.edits.shell.rewording import Command
from runbook.edits.shell.script import parse
from runbook.edits.shell.splices import Splice, apply
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from runbook.edits.shell.launch import Launch
    from runbook.edits.shell.rewording import Draft
    from runbook.edits.shell.script import Script
    from runbook.edits.shell.words import Word

NOTHING: Mapping[str, str | None] = MappingProxyType({})


def edit(text: str, *, set: Mapping[str, str | None] = NOTHING, unset: Collection[str] = ()) -> str:
    """The script with each option of `set` given its value (None: the bare flag) and each of `unset` taken away.

    Of a repeated option the last counts, and only it is left; an alias of an option is that option. Raises
    EditRefusedError, with the line, where there is no launching command to own, where words known only at run time
    (`"${ARGS[@]}"`) may hold the option, or where another may be short for it.
    """
    _refuse_names(set, unset)
    source = parser.encode(text)
    parser.refuse_foreign(source)
    script = parse(source)
    launch = _launch(script)
    draft = rewording.plan(_command(script, launch), set, unset)
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
    for name, other in twice((*wanted, *unwanted)):
        raise EditRefusedError(f"{name} and {other} are one option; ask for it once")
    for name, value in wanted.items():
        if value is not None and "\0" in value:
            raise EditRefusedError(f"the value of {name} holds a NUL, which no argument can carry")


def twice(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs of names that are spellings of one option."""
    for name, other in itertools.pairwise(sorted(names, key=spellings.option)):
        if spellings.option(name) == spellings.option(other):
            yield name, other


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
    if any(word.text == "xargs" for word in launch.words[: -len(launch.argv)]):
        raise EditRefusedError("xargs adds words that only a run can tell; write them out", line=launch.line)
    for rival in launch.rivals:
        if rival.where and launch.words[0].text != "exec":
            raise EditRefusedError(
                "the script may launch this instead; edit its arguments by hand", line=rival.line
            )
        if not rival.another:
            raise EditRefusedError(
                "the script launches this program more than once; edit its arguments by hand", line=rival.line
            )
    if launch.told or launch.unclear:
        what = launch.unclear or f"the text given to {called}"
        raise EditRefusedError(
            f"only a run can tell what {what} launches; write the command out", line=launch.line
        )


def _splices(source: bytes, launch: Launch, draft: Draft) -> list[Splice]:
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


def _prove(before: Launch, after: Launch, draft: Draft) -> None:
    """The words must be what was drafted, and no other."""
    kept = [draft.spelt.get(at, word.raw) for at, word in enumerate(before.argv) if at not in draft.gone]
    stop = next((at for at, word in enumerate(kept) if word == "--" and at), len(kept))
    expected = " ".join([*kept[:stop], *draft.added, *kept[stop:]])
    if " ".join(word.raw for word in after.argv) != expected:
        raise EditRefusedError(
            "could not prove the edit of the launch arguments; edit them by hand", line=before.line
        )
