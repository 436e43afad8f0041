"""Sites: every place of an assignment or declaration that changes what a variable is, and how far we own its spelling."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from runbook.edits.shell.words import NAME, end, line, literal, span, words
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.edits.shell.parser import Node
    from runbook.edits.shell.words import Span, Word

Act = Literal["assign", "append", "export", "unexport", "unset", "touch", "local"]
DECLARATIONS = frozenset({"export", "declare", "typeset", "readonly", "local"})
_SIGN = re.compile(rb"\+?=")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=)(.*)\Z", re.DOTALL)


class Site(NamedTuple):
    """One name at one place. Spans are byte offsets into the script.

    `act` says what happens to the variable (touch: it gets a value nobody can read off the text; local: only what its
    function starts sees it), `exports` whether the place also gives it the export attribute, `value` the literal text or
    None. `where` is export, declare, assignment, set -a, prefix, env, or the construct the place stands under. `owned`
    places may be rewritten; `conditional` ones may or may not run; after `fixed` ones (readonly, `declare -i`) later
    values do not arrive as written; `readonly` ones are refused later values; `lasting` ones may act at any later time.
    `wild` places act on names that are not literal.
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
        return self._replace(where=construct, owned=False, conditional=True)


class Declaring(NamedTuple):
    """What the options of a declaration ask for."""

    exports: bool = False
    unexports: bool = False
    functions: bool = False
    arrays: bool = False
    transforms: bool = False
    readonly: bool = False


def of_declaration(source: bytes, command: Node) -> tuple[Site, ...]:
    """The sites of an export, declare, typeset, readonly or local command."""
    variant = command["Variant"]["Value"]
    arguments = command.get("Args", ())
    flags = [text for argument in arguments if (text := _option(source, argument))]
    leading = list(itertools.takewhile(lambda argument: _option(source, argument), arguments))
    options = declaring(variant, [text for argument in leading if (text := _option(source, argument))])
    if options.functions or variant == "nameref":
        return ()
    rest = arguments[len(leading) :]
    if variant == "local":
        return tuple(_local(argument) for argument in rest if argument.get("Name"))
    if variant != "export" and any("n" in flag for flag in flags if flag.startswith("-")):
        return tuple(site for argument in rest for site in _referred(source, argument))
    return tuple(_declared(source, argument, variant, options) for argument in rest)


def of_assignments(source: bytes, assigns: Sequence[Node], *, where: str, exports: bool) -> tuple[Site, ...]:
    """The sites of plain assignments, `K=0 J=1`, which also may stand before a command."""
    options = Declaring(exports=exports)
    return tuple(_assigned(source, assign, where, options) for assign in assigns)


def of_prefixed(command: Word, prefix: Sequence[Site]) -> tuple[Site, ...]:
    """The sites of assignments before a declaration, `K=0 export K`, which may outlive it."""
    if command.text not in DECLARATIONS:
        return ()
    return tuple(site.under("a prefix of export")._replace(act="touch", value=None) for site in prefix)


def _option(source: bytes, argument: Node) -> str | None:
    """The argument's text when it is an option such as `-x` or `--`."""
    if not argument.get("Naked") or argument.get("Name"):
        return None
    text = literal(source, argument.get("Value"), expands=b"{*")
    return text if text and re.match(r"[-+][A-Za-z-]", text) else None


def declaring(variant: str, flags: Sequence[str]) -> Declaring:
    """What a declaration with these options does to its names."""
    on = "".join(flag for flag in flags if flag.startswith("-"))
    off = "".join(flag for flag in flags if flag.startswith("+"))
    export = variant == "export"
    return Declaring(
        exports=(export and "n" not in on) or (not export and "x" in on),
        unexports=(export and "n" in on) or (not export and "x" in off),
        functions=any(letter in on for letter in ("fF" if variant in ("export", "readonly") else "fFp")),
        arrays=not export and any(letter in on for letter in "aA"),
        transforms=not export and any(letter in on for letter in "aAilucn"),
        readonly=variant == "readonly" or (not export and "r" in on),
    )


def _declared(source: bytes, argument: Node, variant: str, options: Declaring) -> Site:
    where = f"{variant} -x" if options.exports and variant != "export" else variant
    if not argument.get("Name"):
        return naked(words(source, [argument["Value"]])[0], where, options)
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


def _referred(source: bytes, argument: Node) -> tuple[Site, ...]:
    """`declare -n r=K`: whatever is done to r later is done to K, and nothing to r."""
    target = literal(source, argument.get("Value")) or ""
    name, token = target if NAME.match(target) else "", span(argument)
    referred = Site(
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
    own = (argument.get("Name") or {}).get("Value", "")
    return (referred, referred._replace(name=own)) if own else (referred,)


def _mentioned(argument: Node, where: str, options: Declaring) -> Site:
    """`export K` without a value: it gives or takes the attribute, or, like `declare K`, changes nothing.

    `declare -a K` makes an array of it, which is never exported.
    """
    name, token = argument["Name"], span(argument)
    act: Act = "unexport" if options.unexports else "touch" if options.arrays else "export"
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


def naked(word: Word, where: str, options: Declaring) -> Site:
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
    options: Declaring,
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
    # and begins a value too early where a continuation stands before the `=`
    placed = _SIGN.match(source, end(name))
    return Site(
        name["Value"],
        act or ("append" if assign.get("Append") else "assign"),
        line(assign),
        where if plain else "an array",
        span(assign),
        (end(name), end(assign)),
        literal(source, assign.get("Value"), expands=expands) if placed and not act else None,
        exports=options.exports,
        owned=act is None and measured,
        fixed=options.readonly or options.transforms or not plain,  # an array is never exported
        readonly=options.readonly,
    )
