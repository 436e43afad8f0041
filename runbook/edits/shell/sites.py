"""Sites: every place of a simple command that changes what a variable is, and how far we own its spelling."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from runbook.edits.shell.words import NAME, end, line, literal, span, words
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.edits.shell.parser import Node
    from runbook.edits.shell.words import Span, Word

Act = Literal["assign", "append", "export", "unexport", "unset", "touch", "local"]
DECLARATIONS = frozenset({"export", "declare", "typeset", "readonly", "local"})
_ELEMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[.*\]\Z", re.DOTALL)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=)(.*)\Z", re.DOTALL)
_ASSIGNED = re.compile(r"(?<![A-Za-z0-9_])([A-Za-z_][A-Za-z0-9_]*)\+?=")
_NAMES = re.compile(r"(?<![A-Za-z0-9_])([A-Za-z_][A-Za-z0-9_]*)")
_TRAPS = frozenset({"DEBUG", "ERR", "RETURN"})
_WRITERS = frozenset({"read", "mapfile", "readarray", "getopts", "printf", "wait", "let"})


@dataclass(frozen=True, slots=True)
class Site:
    """One name at one place. Spans are byte offsets into the script.

    `act` says what happens to the variable (touch: it gets a value nobody can read off the text; local: only what its
    function starts sees it), `exports` whether
    the place also gives it the export attribute, `value` the literal text or None. `where` is export, declare,
    assignment, set -a, prefix, env, or the construct the place stands under. `owned` places may be rewritten;
    `conditional` ones may or may not run; after `fixed` ones (readonly, `declare -i`)
    later values do not arrive as written, and
    `lasting` ones may act at any later time. `wild` places act on names that are not literal.
    """

    name: str
    act: Act
    line: int
    where: str
    token: Span
    value_at: Span
    value: str | None = None
    exports: bool = False
    owned: bool = True
    conditional: bool = False
    fixed: bool = False
    lasting: bool = False
    readonly: bool = False

    @property
    def wild(self) -> bool:
        return not self.name

    def under(self, construct: str) -> Site:
        """The same place, standing under a construct."""
        return replace(self, where=construct, owned=False, conditional=True)


@dataclass(frozen=True, slots=True)
class _Options:
    """What the options of a declaration ask for."""

    exports: bool = False
    unexports: bool = False
    functions: bool = False
    transforms: bool = False
    readonly: bool = False


def of_declaration(source: bytes, command: Node) -> tuple[Site, ...]:
    """The sites of an export, declare, typeset, readonly or local command."""
    variant = command["Variant"]["Value"]
    arguments = command.get("Args", ())
    flags = [text for argument in arguments if (text := _option(source, argument))]
    leading = list(itertools.takewhile(lambda argument: _option(source, argument), arguments))
    options = _options(variant, [text for argument in leading if (text := _option(source, argument))])
    if options.functions or variant == "nameref":
        return ()
    rest = arguments[len(leading) :]
    if variant == "local":
        return tuple(_local(argument) for argument in rest if argument.get("Name"))
    if variant != "export" and any("n" in flag for flag in flags if flag.startswith("-")):
        return tuple(_referred(source, argument) for argument in rest)
    return tuple(_declared(source, argument, variant, options) for argument in rest)


def of_assignments(source: bytes, assigns: Sequence[Node], *, where: str, exports: bool) -> tuple[Site, ...]:
    """The sites of plain assignments, `K=0 J=1`, which also may stand before a command."""
    options = _Options(exports=exports)
    return tuple(_assigned(source, assign, where, options) for assign in assigns)


def of_prefixed(command: Word, prefix: Sequence[Site]) -> tuple[Site, ...]:
    """The sites of assignments before a declaration, `K=0 export K`, which may outlive it."""
    if command.text not in DECLARATIONS:
        return ()
    return tuple(replace(site.under("a prefix of export"), act="touch", value=None) for site in prefix)


def of_words(words: Sequence[Word]) -> tuple[Site, ...]:
    """The sites of a command given as words: unset, quoted or `builtin` declarations, and builtins that write."""
    plain = past_builtin(words)
    command, arguments = words[plain], words[plain + 1 :]
    if command.text == "unset":
        return tuple(_unset(arguments, owned=not plain))
    if command.text in DECLARATIONS:
        return tuple(_spelt(words[0], command.text, arguments))
    if command.text in _WRITERS:
        return tuple(_written(command.text, arguments))
    if command.text == "eval" or (command.text == "trap" and any(word.text in _TRAPS for word in arguments)):
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


def _option(source: bytes, argument: Node) -> str | None:
    """The argument's text when it is an option such as `-x` or `--`."""
    if not argument.get("Naked") or argument.get("Name"):
        return None
    text = literal(source, argument.get("Value"), expands=b"{*")
    return text if text and re.match(r"[-+][A-Za-z-]", text) else None


def _options(variant: str, flags: Sequence[str]) -> _Options:
    on = "".join(flag for flag in flags if flag.startswith("-"))
    off = "".join(flag for flag in flags if flag.startswith("+"))
    export = variant == "export"
    return _Options(
        exports=(export and "n" not in on) or (not export and "x" in on),
        unexports=(export and "n" in on) or (not export and "x" in off),
        functions=any(letter in on for letter in ("fF" if variant in ("export", "readonly") else "fFp")),
        transforms=not export and any(letter in on for letter in "aAilucn"),
        readonly=variant == "readonly" or (not export and "r" in on),
    )


def _declared(source: bytes, argument: Node, variant: str, options: _Options) -> Site:
    where = f"{variant} -x" if options.exports and variant != "export" else variant
    if not argument.get("Name"):
        return _naked(words(source, [argument["Value"]])[0], where, options)
    if argument.get("Naked"):
        return _mentioned(argument, where, options)
    rewritten = options.transforms or options.unexports
    return _assigned(source, argument, where, options, expands=b"{", act="touch" if rewritten else None)


def _local(argument: Node) -> Site:
    """`local K=1`: as long as its function runs, what the function starts gets this value of an exported name."""
    token = span(argument)
    return Site(
        argument["Name"]["Value"],
        "local",
        line(argument),
        "local",
        token,
        token,
        owned=False,
        conditional=True,
    )


def _referred(source: bytes, argument: Node) -> Site:
    """`declare -n r=K`: whatever is done to r later is done to K."""
    target = literal(source, argument.get("Value")) or ""
    name, token = target if NAME.match(target) else "", span(argument)
    return Site(
        name,
        "touch",
        line(argument),
        "a nameref",
        token,
        token,
        exports=True,
        owned=False,
        conditional=True,
        lasting=True,
    )


def _mentioned(argument: Node, where: str, options: _Options) -> Site:
    """`export K` without a value: it gives or takes the attribute, or, like `declare K`, changes nothing."""
    name, token = argument["Name"], span(argument)
    act: Act = "unexport" if options.unexports else "export"
    return Site(
        name["Value"],
        act,
        line(argument),
        where,
        token,
        (end(name), token[1]),
        exports=options.exports,
        fixed=options.readonly or options.transforms,
        readonly=options.readonly,
    )


def _naked(word: Word, where: str, options: _Options) -> Site:
    """A word that is no literal `NAME` or `NAME=value`: quoted, or built from expansions."""
    name, act, value = _split(word.text or "")
    if not name and word.text is None:
        # the name in front of `=` may be literal where the value is not
        found = _ASSIGNMENT.match(word.raw.lstrip("\"'"))
        name, act = (found[1], "touch") if found else ("", "assign")
    return Site(
        name, act, word.line, where, word.span, word.span, value, exports=options.exports, owned=False
    )


def _split(text: str) -> tuple[str, Act, str | None]:
    found = _ASSIGNMENT.match(text)
    if found:
        return found[1], ("assign" if found[2] == "=" else "append"), found[3]
    return (text, "export", None) if NAME.match(text) else ("", "assign", None)


def _assigned(
    source: bytes,
    assign: Node,
    where: str,
    options: _Options,
    *,
    expands: bytes = b"",
    act: Act | None = None,
) -> Site:
    plain = not assign.get("Array") and not assign.get("Index")
    act = act if plain else "touch"
    name = assign["Name"]
    if "Value" not in name:
        raise EditRefusedError(
            "found an assignment without a name, which bash takes for a command", line=line(assign)
        )
    # mvdan/sh ends a `K+=` without a value one byte early, so that we could not take it out whole
    measured = bool(assign.get("Value")) or not assign.get("Append")
    return Site(
        name["Value"],
        act or ("append" if assign.get("Append") else "assign"),
        line(assign),
        where if plain else "an array",
        span(assign),
        (end(name), end(assign)),
        None if act else literal(source, assign.get("Value"), expands=expands),
        exports=options.exports,
        owned=act is None and measured,
        fixed=options.readonly or options.transforms,
        readonly=options.readonly,
    )


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
    options = _options(variant, [word.text or "" for word in leading])
    where = f"a spelling of {variant} ({first.raw})"
    for word in arguments[len(leading) :]:
        if word.text != "--":
            yield replace(_naked(word, where, options), fixed=options.readonly, readonly=options.readonly)


def _written(command: str, arguments: Sequence[Word]) -> Iterator[Site]:
    """Variables that read, mapfile, getopts, `printf -v`, `wait -p` give a value at run time."""
    option = {"printf": "-v", "wait": "-p"}.get(command)
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
            named_ = element[1] if element else name
            yield Site(named_, "touch", word.line, command, word.span, word.span, owned=False)


def _evaluated(command: str, arguments: Sequence[Word]) -> Iterator[Site]:
    """Variables that text run by eval or a trap assigns, as far as it can be seen."""
    # what is unset by name stands without a sign
    pattern = _NAMES if any("unset" in word.raw for word in arguments) else _ASSIGNED
    for word in arguments:
        for found in pattern.finditer(word.raw):
            yield Site(
                found[1],
                "touch",
                word.line,
                command,
                word.span,
                word.span,
                exports=True,
                owned=False,
                conditional=True,
                lasting=command == "trap",
            )
