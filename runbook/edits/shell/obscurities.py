"""Obscurities: what gives the words of a script another meaning than the tree says, or sets names no text shows."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from runbook.edits.shell.commands import TRAPS, past_builtin
from runbook.edits.shell.traversal import BACKGROUND, SUBSHELL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.edits.shell.statements import Command, Statement
    from runbook.edits.shell.words import Word

_WORDS = frozenset({"export", "declare", "typeset", "readonly", "set", "unset", "exec", "env", "source", "."})
# Functions of these names make a script do otherwise than it reads
_NAMES = _WORDS | {"builtin", "command", "eval", "exit", "nohup", "nice", "return", "shopt", "trap"}

# What changes the environment, or starts something with another one
_COMMANDS = _WORDS | {
    "builtin",
    "command",
    "eval",
    "local",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "printf",
    "sudo",
}
_NAMED = re.compile(r"\$(?:\w+|[@*#?!$-])")
_CLOSED = {"${": "}", "$(": ")", "`": "`"}
_SWITCH = re.compile(r"(?<![\w./-])(?:set|shopt|alias)(?![\w./-])")
_SHOPT = {
    "expand_aliases": "the script expands aliases, so that its words may mean others; write functions instead",
    "execfail": "execfail lets the script go on behind an exec that fails; take it out",
    "failglob": "failglob drops what stands behind a pattern without a match on its line; take it out",
}
_ASSIGNS = ("assign", "append", "touch")
# Assignments that fail by themselves, and let their line go on
_DECLARED = (
    "export",
    "declare",
    "typeset",
    "readonly",
    "a spelling",
    "prefix",
    "read",
    "printf",
    "mapfile",
    "getopts",
)
# What is switched on in these is off again outside
_APART = (SUBSHELL, BACKGROUND)


class Obscurity(NamedTuple):
    """A place that hides what a script does; `fatal`: no edit of the script can be proved."""

    line: int
    what: str
    fatal: bool = True


def find(statements: Sequence[Statement], *, posix: bool) -> Iterator[Obscurity]:
    """The obscurities of a script. `posix`: it is run by sh, which expands aliases unasked."""
    yield from _of_readonly(statements)
    for statement in statements:
        for name in statement.functions:
            if name in _NAMES:
                yield Obscurity(
                    statement.line, f"the function {name} replaces the command of that name; rename it"
                )
        for command in statement.commands:
            yield from _of_command(command, posix)


def _of_readonly(statements: Sequence[Statement]) -> Iterator[Obscurity]:
    """Assignments to readonly names: bash goes on at the next line, whatever stood behind them."""
    readonly: set[str] = set()
    for statement in statements:
        for site in statement.sites:
            if site.name in readonly and site.act in _ASSIGNS and not site.where.startswith(_DECLARED):
                what = f"{site.name} is readonly by now, and bash drops what stands behind this on its line"
                yield Obscurity(site.line, f"{what}; take one of the two out")
            if site.readonly:
                readonly.add(site.name)


def _of_command(command: Command, posix: bool) -> Iterator[Obscurity]:
    texts, line = [word.text or "" for word in command.words], command.words[0].line
    vanishing = list(itertools.takewhile(_may_vanish, command.words))
    if vanishing and len(vanishing) < len(texts) and texts[len(vanishing)] in _COMMANDS:
        what = f"{vanishing[0].raw} may be empty, and {texts[len(vanishing)]} the command"
        yield Obscurity(line, f"{what}; write the command out")
    texts = texts[past_builtin(command.words) :]
    if texts[0] in ("set", "shopt"):
        yield from _of_switch(command, line)
    if texts[0] == "shopt" and "-u" not in texts:
        yield from (Obscurity(line, _SHOPT[text]) for text in texts if text in _SHOPT)
    if texts[0] == "enable" and "-n" in texts:
        yield Obscurity(line, "enable -n takes builtins away, so that their names mean others; take it out")
    if texts[0] == "alias" and posix:
        yield Obscurity(
            line, "sh expands this alias, so that its words may mean others; write a function instead"
        )
    if texts[0] == "eval":
        yield from _of_eval(command, line)
    if texts[0] == "trap" and TRAPS.intersection(texts) and any(map(_is_run, command.words)):
        yield Obscurity(line, "a trap runs text that only a run knows", fatal=False)


def _is_run(word: Word) -> bool:
    """Whether a word is text for the shell whose very command only a run knows."""
    return word.text is None and word.raw.lstrip('"').startswith(("$", "`"))


def _of_eval(command: Command, line: int) -> Iterator[Obscurity]:
    if any(word.text is None for word in command.words):
        yield Obscurity(line, "eval runs text that only a run knows", fatal=False)
    switch = next((found[0] for word in command.words if (found := _SWITCH.search(word.raw))), None)
    if switch:
        yield Obscurity(line, f"eval runs {switch}, which may change what assignments are; write it out")


def _may_vanish(word: Word) -> bool:
    """Whether a word expands to nothing where what it expands is empty."""
    return word.text is None and _all_expansions(word.raw)


def _all_expansions(raw: str) -> bool:
    """Whether a word can be read as expansions and nothing else; `${…}` may end at any brace behind it, and so the others.

    Every reading is followed at once: one after the other their number doubles with each expansion.
    """
    begins, closers = {0}, set()
    for at, char in enumerate(raw):
        if char in closers:
            begins.add(at + 1)
        if at in begins:
            closers |= {closer for head, closer in _CLOSED.items() if raw.startswith(head, at)}
            begins |= {named.end() for named in [_NAMED.match(raw, at)] if named}
    return bool(raw) and len(raw) in begins


def _of_switch(command: Command, line: int) -> Iterator[Obscurity]:
    """Options of the shell that change what assignments are, and those that may or may not be switched on."""
    given = command.words[past_builtin(command.words) :]
    words = list(itertools.takewhile(lambda word: word.text != "--", given))
    texts = [word.text or "" for word in words]
    if texts[0] == "shopt" and not any(re.match(r"-[a-z]*o", text) for text in texts):
        return
    letters = {letter for text in texts[1:] if re.match(r"[-+][a-z]", text) for letter in text[1:]}
    if "keyword" in texts or "k" in letters:
        yield Obscurity(line, "set -k makes assignments of arguments; take it out")
    if "posix" in texts:
        yield Obscurity(line, "posix mode keeps assignments before some commands; take it out")
    if any(word.text is None for word in words):
        yield Obscurity(line, "only a run can tell which options are set here; write them out")
    exports = "allexport" in texts or "a" in letters
    if exports and (texts[0] == "shopt" or (not command.where.startswith(_APART) and command.where)):
        yield Obscurity(
            line, f"set -a stands under {command.where or texts[0]}; move it to the top level as `set -a`"
        )
