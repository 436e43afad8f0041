"""Serve scripts: what environment a shell script gives the server it launches, and how to change exactly that."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from runbook.edits.shell import changes, environment, obscurities, parser
from runbook.edits.shell.environment import ANOTHER_LAUNCH
from runbook.edits.shell.reparse import reparse
from runbook.edits.shell.script import parse
from runbook.edits.shell.splices import apply, collide
from runbook.edits.shell.traversal import BACKGROUND, FUNCTION, SUBSHELL
from runbook.edits.shell.words import NAME, NAMES_OF_BASH, quote
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from runbook.edits.shell.environment import Environment
    from runbook.edits.shell.script import Script
    from runbook.edits.shell.sites import Site
    from runbook.edits.shell.splices import Splice
    from runbook.edits.shell.words import Span


_APART = (FUNCTION, SUBSHELL, BACKGROUND)
NOTHING: Mapping[str, str] = MappingProxyType({})


class Assignment(NamedTuple):
    """One place that gives a variable a value: what it is after unquoting, None where only a run can tell."""

    name: str
    line: int
    value: str | None


class Sourced(NamedTuple):
    """A command that sources a file: the path as written, its span in bytes, the line it stands on.

    `allexport`: under `set -a`, so that what the file assigns is exported. `where` is the construct it stands under.
    """

    path: str
    span: Span
    line: int
    allexport: bool
    where: str


class Return(NamedTuple):
    """A `return` outside functions: the offset where its statement ends, and whether it always runs."""

    end: int
    always: bool


class ScriptEnvironment(NamedTuple):
    """What the launched process gets from the script.

    `values` maps each exported, prefix or env variable to its literal value, or None when only a run can tell.
    `unreadable` maps names that cannot be decided to the reason (under `*`: any name may be concerned).
    `launch` holds the launched command's words without wrappers (None for a dynamic word), or is None when no
    top-level command launches. `sourced` are the commands that source files; `returns` end the reading of a script that
    is itself sourced.
    """

    values: Mapping[str, str | None]
    assignments: tuple[Assignment, ...]
    launch_line: int | None = None
    launch: tuple[str | None, ...] | None = None
    unreadable: Mapping[str, str] = NOTHING
    sourced: tuple[Sourced, ...] = ()
    returns: tuple[Return, ...] = ()


def read(text: str) -> ScriptEnvironment:
    """What the launched process would get from the script, from its text alone.

    Raises EditRefusedError for text that cannot be read as a shell script.
    """
    source = parser.encode(text)
    parser.refuse_foreign(source)
    return _described(environment.read(parse(source)))


def edit(text: str, *, set: Mapping[str, str] = NOTHING, unset: Collection[str] = ()) -> str:
    """The script with each name of `set` given its literal value and each of `unset` taken away, for the launched process.

    The text is returned as it is where that holds already; bytes outside the change survive exactly. Raises
    EditRefusedError, with the line, where the change cannot be made and proved on the script's own syntax tree.
    """
    _refuse_names(set, unset)
    source = parser.encode(text)
    parser.refuse_foreign(source)
    with parser.second_opinion(source):
        script = parse(source)
    found = environment.read(script)
    _refuse_obscure(script)
    _refuse_unquotable(script, set)
    splices = changes.plan(found, set, unset)
    if not splices:
        return text
    if collide(splices) and not (set and unset):
        raise EditRefusedError("the places to change overlap; put each assignment on a line of its own")
    if collide(splices):
        return edit(edit(text, unset=unset), set=set)
    edited = apply(source, splices)
    after = _reread(script, splices, edited)
    _prove(found, environment.read(after), set, unset)
    return parser.decode(edited)


def _described(found: Environment) -> ScriptEnvironment:
    launch, script = found.launch, found.script
    names = dict.fromkeys((*found.placed, *(site.name for site in found.own)))
    standings = {name: found.standing(name) for name in names}
    unreadable = {n: _where(s.doubt) for n, s in standings.items() if s.doubt and found.may_export(n)}
    hidden = list(obscurities.find(script.statements, posix=script.posix))
    if any(obscurity.fatal for obscurity in hidden):
        unreadable |= dict.fromkeys(names, f"line {hidden[0].line}: {hidden[0].what}")
    if hidden:
        unreadable["*"] = f"line {hidden[0].line}: {hidden[0].what}"
    if launch and launch.unclear:
        unreadable["*"] = f"line {launch.line}: only a run can tell what {launch.unclear} sets"
    if found.wild:
        unreadable["*"] = _where(found.wild[-1].site)
    placed = [p.site for sites in found.placed.values() for p in sites if p.site.act in ("assign", "append")]
    ordered = sorted((*placed, *found.own), key=lambda site: site.token)
    return ScriptEnvironment(
        values={
            name: None if name in NAMES_OF_BASH else s.value
            for name, s in standings.items()
            if s.present and not s.doubt and name not in unreadable
        },
        assignments=tuple(Assignment(site.name, site.line, site.value) for site in ordered),
        launch_line=launch.line if launch else None,
        launch=tuple(word.text for word in launch.argv) if launch and launch.argv else None,
        unreadable=unreadable,
        sourced=tuple(_sourced(script)),
        returns=tuple(_returns(script)),
    )


def _sourced(script: Script) -> Iterator[Sourced]:
    allexport = bool(script.shell.allexport)
    for statement in script.statements:
        for command in statement.commands:
            words = [word for word in command.words if word.text not in ("builtin", "command")]
            if len(words) > 1 and words[0].text in (".", "source"):
                path = words[1].raw if words[1].text is None else words[1].text
                span = (command.words[0].span[0], command.words[-1].span[1])
                yield Sourced(path, span, command.words[0].line, allexport, command.where)
        if statement.options.allexport is not None:
            allexport = statement.options.allexport


def _returns(script: Script) -> Iterator[Return]:
    for statement in script.statements:
        for command in statement.commands:
            if command.words[0].text == "return" and not command.where.startswith(_APART):
                yield Return(statement.span[1], not command.where)


def _refuse_names(wanted: Mapping[str, str], unwanted: Collection[str]) -> None:
    for name in (*wanted, *unwanted):
        if not NAME.match(name):
            raise EditRefusedError(f"{name!r} is no shell variable name; use letters, digits and underscores")
        if name in wanted and name in unwanted:
            raise EditRefusedError(f"{name} is both set and unset; ask for one of them")
    for name, value in wanted.items():
        if name in NAMES_OF_BASH:
            raise EditRefusedError(f"{name} is bash's own, and no script can give it a value")
        if "\0" in value:
            raise EditRefusedError(f"the value of {name} holds a NUL, which no environment can carry")
        parser.encode(value)


def _refuse_obscure(script: Script) -> None:
    for obscurity in obscurities.find(script.statements, posix=script.posix):
        if obscurity.fatal:
            raise EditRefusedError(obscurity.what, line=obscurity.line)


def _refuse_unquotable(script: Script, wanted: Mapping[str, str]) -> None:
    for name, value in wanted.items():
        if script.posix and quote(value).startswith("$'"):
            raise EditRefusedError(
                f"the value of {name} holds control characters, which sh has no quotes for", line=1
            )


def _reread(script: Script, splices: Sequence[Splice], edited: bytes) -> Script:
    """The edited script as both parsers take it."""
    try:
        with parser.second_opinion(edited):
            return reparse(script, splices)
    except EditRefusedError as error:
        at = script.source.count(b"\n", 0, min(splice.start for splice in splices)) + 1
        raise EditRefusedError(
            f"the edit would break the script ({error.reason}); move the assignment to a line of its own",
            line=at,
        ) from error


def _prove(
    before: Environment, after: Environment, wanted: Mapping[str, str], unwanted: Collection[str]
) -> None:
    """Hold the edited script against what was asked: the tree says so, nothing else moved, a second edit is idle."""
    for name in {*before.names(), *after.names(), *wanted, *unwanted}:
        standing = after.standing(name)
        if standing.doubt and (name in wanted or name in unwanted):
            raise changes.refusal(_as_before(before, standing.doubt))
        if name in wanted:
            right = standing.present and standing.value == wanted[name]
        elif name in unwanted:
            right = not standing.present
        else:
            right = standing.same(before.standing(name))
        if not right:
            raise EditRefusedError(f"could not prove the edit of {name}; edit the script by hand")
    if changes.plan(after, wanted, unwanted):
        raise EditRefusedError("a second edit would change the script again; edit it by hand")


def _as_before(before: Environment, doubt: Site) -> Site:
    """A doubt about another launch at that one's line before the edit, for those of the edited script are not told."""
    rivals = before.launch.rivals if before.launch else ()
    return doubt._replace(line=rivals[0].line) if doubt.where == ANOTHER_LAUNCH and rivals else doubt


def _where(site: Site) -> str:
    return f"line {site.line}: {changes.reason(site)}"
