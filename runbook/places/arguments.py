"""The options a serve script launches its server with, and those a process was really started with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runbook import edits
from runbook.edits import launch_args
from runbook.edits.shell import options, spellings
from runbook.edits.shell.words import Word
from runbook.errors import EditRefusedError
from runbook.onhost.masking import MASK
from runbook.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runbook.edits.shell.options import Place
    from runbook.model import Processes

Values = tuple[str, ...]


class Arguments(NamedTuple):
    """One command line: each option's words after it (none: it stands alone); of a repeated one the last counts.

    `undecided` are options whose words only a run can tell; `unknown` says why nothing is known for sure: `values` are then
    what is written, and more may come. Both name an option as `spellings.option` does, and `of` and `tells` know it by
    every spelling.
    """

    words: tuple[Word, ...] = ()
    values: Mapping[str, Values] = {}
    undecided: frozenset[str] = frozenset()
    unknown: str = ""

    def tells(self, name: str) -> bool:
        """Whether an option's words, or its absence, are known."""
        option = spellings.option(name)
        shortened = any(spellings.may_shorten(written, name) for written in self.values)
        return not self.unknown and option not in self.undecided and not shortened

    def of(self, name: str) -> Values | None:
        """An option's words, however it is spelled; None where it is absent."""
        return self.values.get(spellings.option(name))


NO_SCRIPT = Arguments(unknown="there is no script that can be read")


def of_file(path: str | None, content: bytes | None) -> Arguments:
    """What the file that launches a unit's server gives it; nothing is known where there is none, or no shell reads it."""
    if path is None or content is None or edits.script_kind(path) != edits.SHELL:
        return NO_SCRIPT
    return of_script(content)


def of_script(content: bytes) -> Arguments:
    """What a script's launch command is given, as far as its text tells."""
    try:
        command = launch_args.command(content.decode("utf-8", "surrogateescape"))
    except EditRefusedError as refused:
        return Arguments(unknown=str(refused))
    # A literal word is taken for its text, however it is quoted, as a process shows it.
    plain = tuple(word if word.text is None else word._replace(raw=word.text) for word in command.words)
    found = _read(plain, tuple(options.places(plain)))
    if command.loose:
        loose = plain[command.loose[0]]
        return found._replace(unknown=f"only a run can tell what {loose.raw} stands for")
    return found


def of_process(launch: Arguments, processes: Processes) -> Arguments:
    """What a unit's process was started with; unknown unless its command line is that of the script's `launch`."""
    argv = processes.argv
    if not argv:
        return Arguments(unknown="its command line is not to be seen")
    if not _is_launch(launch.words, argv):
        return Arguments(unknown=f"process {processes.pid} is not the command the script launches")
    words = tuple(Word(text, text, (0, 0), 0) for text in argv)
    return _read(words, tuple(options.places(words)))


def differences(launch: Arguments, running: Arguments, names: Iterable[str]) -> list[str]:
    """Each option that runs otherwise than the script launches it, as `NAME is X, wanted Y`, as far as both are known."""
    return [
        f"{name} is {shown(running.of(name))}, wanted {shown(launch.of(name))}"
        for name in sorted(names)
        if launch.tells(name) and running.tells(name) and launch.of(name) != running.of(name)
    ]


def shown(values: Values | None) -> str:
    """An option's words for people: absent, present, or quoted on one line."""
    if values is None:
        return "absent"
    return ", ".join(repr(one_line(value, 120)) for value in values) or "present"


def _read(words: tuple[Word, ...], places: Iterable[Place]) -> Arguments:
    values: dict[str, Values] = {}
    undecided: set[str] = set()
    for place in places:
        name, given = spellings.option(options.name_of(words[place.at])), _given(words, place)
        undecided.discard(name)
        values.pop(name, None)
        if given is None:
            undecided.add(name)
        else:
            values[name] = given
    return Arguments(words, values, frozenset(undecided))


def _given(words: Sequence[Word], place: Place) -> Values | None:
    """The words given to an option; None where one is decided by a run, or masked."""
    first = words[place.at]
    joined = None if first.text is None else first.text.partition("=")[2]
    texts = [joined] if place.joined else [words[at].text for at in place.span[1:]]
    known = tuple(text for text in texts if text is not None and MASK not in text)
    return known if len(known) == len(texts) else None


def _is_launch(words: Sequence[Word], argv: Sequence[str]) -> bool:
    """Whether a command line runs what the script launches: the words up to its first long option say what that is."""
    head = [word.text for word in words[1 : _first_option(words)]]
    if any(head):
        return any(_alike(head, argv[at : at + len(head)]) for at in (1, 2))
    program = words[0].text.rpartition("/")[2] if words and words[0].text else ""
    return bool(program) and program in {word.rpartition("/")[2] for word in argv[:2]}


def _first_option(words: Sequence[Word]) -> int:
    return next((at for at, word in enumerate(words) if word.raw.startswith("--")), len(words))


def _alike(head: Sequence[str | None], found: Sequence[str]) -> bool:
    same = (want is None or want == word for want, word in zip(head, found, strict=False))
    return len(head) == len(found) and all(same)
