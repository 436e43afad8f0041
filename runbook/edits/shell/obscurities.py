"""Obscurities: what gives the words of a script another meaning than the tree says, or sets names no text shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.edits.shell.statements import Command, Statement

_WORDS = frozenset({"export", "declare", "typeset", "readonly", "set", "unset", "exec", "env", "source", "."})


@dataclass(frozen=True, slots=True)
class Obscurity:
    """A place that hides what a script does; `fatal`: no edit of the script can be proved."""

    line: int
    what: str
    fatal: bool = True


def find(statements: Sequence[Statement], *, posix: bool) -> Iterator[Obscurity]:
    """The obscurities of a script. `posix`: it is run by sh, which expands aliases unasked."""
    for statement in statements:
        for name in statement.functions:
            if name in _WORDS:
                yield Obscurity(
                    statement.line, f"the function {name} replaces the command of that name; rename it"
                )
        for command in statement.commands:
            yield from _of_command(command, posix)


def _of_command(command: Command, posix: bool) -> Iterator[Obscurity]:
    texts, line = [word.text or "" for word in command.words], command.words[0].line
    if texts[0] == "shopt" and "expand_aliases" in texts and "-u" not in texts:
        yield Obscurity(
            line, "the script expands aliases, so that its words may mean others; write functions instead"
        )
    if texts[0] == "alias" and posix:
        yield Obscurity(
            line, "sh expands this alias, so that its words may mean others; write a function instead"
        )
    if texts[0] == "set" and ("keyword" in texts or any(t.startswith("-") and "k" in t for t in texts[1:])):
        yield Obscurity(line, "set -k makes assignments of arguments; take it out")
    if texts[0] == "eval" and any(word.text is None for word in command.words):
        yield Obscurity(line, "eval runs text that only a run knows", fatal=False)
