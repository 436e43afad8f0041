"""Commands given as words: unset, quoted or `builtin` declarations, and builtins that give variables a value."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from runbook.edits.shell.sites import DECLARATIONS, Site, declaring, naked
from runbook.edits.shell.words import NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.edits.shell.words import Word

_ELEMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[.*\]\Z", re.DOTALL)
_ASSIGNED = re.compile(r"(?<![A-Za-z0-9_])([A-Za-z_][A-Za-z0-9_]*)\+?=")
_NAMES = re.compile(r"(?<![A-Za-z0-9_])([A-Za-z_][A-Za-z0-9_]*)")
TRAPS = frozenset({"DEBUG", "ERR", "RETURN"})  # those that fire before a script comes to its end
_WRITERS = frozenset({"read", "mapfile", "readarray", "getopts", "printf", "wait"})


def of_words(words: Sequence[Word]) -> tuple[Site, ...]:
    """The sites of a command given as words: unset, quoted or `builtin` declarations, and builtins that write."""
    plain = past_builtin(words)
    command, arguments = words[plain], words[plain + 1 :]
    if command.text == "unset":
        return tuple(_unset(arguments, owned=not plain))
    if command.text in DECLARATIONS:
        return tuple(_spelt(words[0], command.text, arguments))
    if command.text == "let":
        return tuple(_calculated(arguments))
    if command.text in _WRITERS:
        return tuple(_written(command.text, arguments))
    if command.text in ("eval", "trap"):
        return tuple(_evaluated(command.text, arguments))
    return ()


def past_builtin(words: Sequence[Word]) -> int:
    """The position of the command after `builtin` and `command [-p]`, which change nothing about it."""
    at = 0
    while words[at].text in ("builtin", "command") and at + 1 < len(words):
        after = at + 2 if words[at + 1].text in ("-p", "--") else at + 1
        if after >= len(words) or _flag(words[after]):
            break
        at = after
    return at


def _flag(word: Word) -> bool:
    return (word.text or "")[:1] in ("-", "+")


def _unset(arguments: Sequence[Word], *, owned: bool) -> Iterator[Site]:
    if any(_flag(word) and ("f" in word.raw or "n" in word.raw) for word in arguments):
        return
    for word in arguments:
        element = _ELEMENT.match(word.text or "")
        if element:
            yield Site(element[1], "touch", word.line, "an array", word.span, word.span, owned=False)
        elif not _flag(word) and (word.text is None or NAME.match(word.text)):
            ours = owned and word.raw == word.text
            yield Site(word.text or "", "unset", word.line, "unset", word.span, word.span, owned=ours)


def _spelt(first: Word, variant: str, arguments: Sequence[Word]) -> Iterator[Site]:
    """`builtin export K=0`, `"export" K=0`: read, but not ours to rewrite."""
    leading = list(itertools.takewhile(_flag, arguments))
    options = declaring(variant, [word.text or "" for word in leading])
    where = f"a spelling of {variant} ({first.raw})"
    for word in arguments[len(leading) :]:
        if word.text != "--":
            yield naked(word, where, options)._replace(fixed=options.readonly, readonly=options.readonly)


def _written(command: str, arguments: Sequence[Word]) -> Iterator[Site]:
    """Variables that read, mapfile, getopts, `printf -v`, `wait -p` give a value at run time."""
    option = {"printf": "-v", "wait": "-p"}.get(command)
    listed = command in ("mapfile", "readarray") or any(word.text == "-a" for word in arguments)
    for position, word in enumerate(arguments):
        attached = option is not None and word.raw.startswith(option) and word.raw != option
        named = position > 0 and arguments[position - 1].text == option
        name = (word.text or "").removeprefix(option) if option and attached else word.text
        if option and not (attached or named):
            continue
        if name is None and (option or position == len(arguments) - 1):
            yield Site("", "touch", word.line, command, word.span, word.span, owned=False)
        element = _ELEMENT.match(name or "")
        if name and (element or NAME.match(name)):
            named_, array = (
                element[1] if element else name,
                listed or bool(element),
            )  # which is never exported
            yield Site(named_, "touch", word.line, command, word.span, word.span, owned=False, fixed=array)


def _calculated(arguments: Sequence[Word]) -> Iterator[Site]:
    """`let 'K = 5'`: every name in the arithmetic, whether it is read or written."""
    for word in arguments:
        for name in _NAMES.findall(word.raw):
            yield Site(name, "touch", word.line, "let", word.span, word.span, owned=False)


def _evaluated(command: str, arguments: Sequence[Word]) -> Iterator[Site]:
    """Variables that text run by eval or a trap assigns, as far as it can be seen."""
    early = command == "eval" or any(word.text in TRAPS for word in arguments)
    # what is unset by name stands without a sign
    pattern = _NAMES if early and any("unset" in word.raw for word in arguments) else _ASSIGNED
    for word in arguments:
        for found in pattern.finditer(word.raw):
            yield Site(
                found[1],
                "touch",
                word.line,
                command,
                word.span,
                word.span,
                exports=early,
                owned=False,
                conditional=True,
                lasting=command == "trap",
            )
