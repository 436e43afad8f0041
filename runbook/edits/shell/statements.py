"""Statements: one top-level statement of a script, with all that editing needs to know of it."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from runbook.edits.shell import sites as sites_of
from runbook.edits.shell.commands import of_words, past_builtin
from runbook.edits.shell.traversal import BACKGROUND, FUNCTION, SUBSHELL, simple_commands
from runbook.edits.shell.words import end, line, raw, span, start, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.edits.shell.parser import Node
    from runbook.edits.shell.sites import Site
    from runbook.edits.shell.traversal import Survey
    from runbook.edits.shell.words import Span, Word

# Commands that neither pass the environment on nor look at it, so that assignments on both sides are neighbours.
_IDLE = frozenset(
    {"set", "shopt", "ulimit", "umask", "cd", "echo", "printf", "mkdir", "trap", ":", "true", "unset"}
)

# Where an assignment may never be reached
CUT = "what may fail before it on its line"
EXPANSION = "an expansion"
# Where an assignment stays in a process of its own
HIDDEN = (SUBSHELL, BACKGROUND)


class Options(NamedTuple):
    """What `set` or the shebang switched on (True), off (False) or left alone (None)."""

    allexport: bool | None = None
    nounset: bool | None = None


class Command(NamedTuple):
    """A simple command: its words, the assignments before it, and the construct it stands under ("" at the top)."""

    words: tuple[Word, ...]
    prefix: tuple[Site, ...]
    where: str


class Operands(NamedTuple):
    """The words of a declaration, assignment or unset that may be taken out one by one.

    `keyword_end` is where the words before them end; plain assignments have none (`bare`).
    """

    spans: tuple[Span, ...]
    keyword_end: int
    bare: bool = False


class Statement(NamedTuple):
    """One top-level statement, or one inside a top-level `{ … }`; offsets count bytes.

    `span` covers it with its separator, `body_end` is the end without, `before` and `after` are the end and start of
    its neighbours in the same list. `hidden` sites stand in a subshell and matter only if the launch does too.
    `mentions` are the names its expansions use, `reads` those that must be set under `set -u`. `arrays` pairs an
    array with the variable an element looks like an assignment of: `CMD=(env K=0 python)`. `idle`: it runs nothing
    that could see the environment.
    """

    span: Span
    body_end: int
    line: int
    first: str | None
    operands: Operands | None
    sites: tuple[Site, ...]
    hidden: tuple[Site, ...]
    commands: tuple[Command, ...]
    reads: frozenset[str]
    mentions: frozenset[str]
    functions: tuple[str, ...]
    arrays: tuple[tuple[str, str], ...]
    options: Options
    idle: bool
    redirected: bool
    documents: bool
    before: int | None
    after: int | None

    @property
    def exports(self) -> bool:
        """Whether this is an export in its own right, a place a new one may follow."""
        return any(site.exports and not site.conditional for site in self.sites)


def body_end(node: Node) -> int:
    """The end of a statement without its separator; a `&` belongs to the body."""
    if not node.get("Semicolon") or node.get("Background"):
        return end(node)
    ends = [end(node["Cmd"])] if node.get("Cmd") else []
    return max([*ends, *(end(redirect["Word"]) for redirect in node.get("Redirs") or ())])


def of_node(
    source: bytes, node: Node, seen: Survey, before: int | None, after: int | None, *, cut: bool
) -> Statement:
    """The statement a node of the syntax tree stands for, between its neighbours; `cut`: bash may never come to it."""
    simple = list(simple_commands(node))
    commands = tuple(_commands(source, simple))
    sites = tuple(_reached(_sites(source, simple, commands), cut=cut, fallible=seen.fallible))
    shown = tuple(site for site in sites if site.where not in HIDDEN)
    plain = bool(simple) and simple[0][0] is node and not simple[0][1]
    first = commands[0].words[0].text if plain and commands else None
    operands = _operands(node["Cmd"], shown, commands) if plain else None
    return Statement(
        span=span(node),
        body_end=body_end(node),
        line=line(node),
        first=first,
        operands=operands,
        sites=shown + tuple(_written(node, seen)),
        hidden=tuple(site for site in sites if site.where in HIDDEN),
        commands=commands,
        reads=frozenset(seen.reads),
        mentions=frozenset(seen.mentions),
        functions=tuple(seen.functions),
        arrays=tuple(_arrays(source, simple)),
        options=_options(commands),
        idle=plain and not seen.runs and (operands is not None or first in _IDLE),
        redirected=bool(node.get("Redirs")),
        documents=seen.documents,
        before=before,
        after=after,
    )


def _commands(source: bytes, simple: Sequence[tuple[Node, str]]) -> Iterator[Command]:
    for node, where in simple:
        command = node["Cmd"]
        if command.get("Args") and command["Type"] == "CallExpr":
            assigns = command.get("Assigns") or ()
            prefix = sites_of.of_assignments(source, assigns, where="prefix", exports=True)
            yield Command(words(source, command["Args"]), prefix, where)


def _sites(source: bytes, simple: Sequence[tuple[Node, str]], commands: Sequence[Command]) -> Iterator[Site]:
    calls = iter(commands)
    for node, where in simple:
        command = node["Cmd"]
        if command["Type"] == "DeclClause":
            found = sites_of.of_declaration(source, command)
        elif command.get("Args"):
            call = next(calls)
            found = (*of_words(call.words), *sites_of.of_prefixed(call.words[0], call.prefix))
        else:
            assigns = command.get("Assigns") or ()
            found = sites_of.of_assignments(source, assigns, where="assignment", exports=False)
        yield from (site.under(where) for site in found) if where else found


def _reached(sites: Iterator[Site], *, cut: bool, fallible: bool) -> Iterator[Site]:
    """The sites, in doubt where something before them on their line may fail, or beside them in one command."""
    found = list(sites)
    for site in found:
        beside = fallible and len(found) > 1 and site.value is not None
        yield site.under(CUT) if (cut or beside) and not site.where.startswith(HIDDEN) else site


def _written(node: Node, seen: Survey) -> Iterator[Site]:
    """Variables of loops and of expansions that assign, such as `${K:=0}`."""
    for name in seen.loops:
        yield _maybe(name["Value"], line(name), "a loop", start(name))
    for written in sorted(seen.writes):
        yield _maybe(written, line(node), EXPANSION, start(node))


def _maybe(name: str, at: int, where: str, offset: int) -> Site:
    spot = (offset, offset)
    return sites_of.Site(name, "touch", at, where, spot, spot, owned=False, conditional=True)


def _operands(command: Node, sites: Sequence[Site], commands: Sequence[Command]) -> Operands | None:
    if command["Type"] == "DeclClause":
        spans = tuple(site.token for site in sites)
        own = frozenset(spans)
        options = [end(word) for word in command.get("Args") or () if span(word) not in own]
        return Operands(spans, max([end(command["Variant"]), *options]))
    if not commands:
        return Operands(
            tuple(span(assign) for assign in command.get("Assigns") or ()), start(command), bare=True
        )
    called = commands[0].words
    if called[0].text != "unset" or commands[0].prefix:
        return None
    names = tuple(word.span for word in called[1:] if not word.raw.startswith("-"))
    own = frozenset(names)
    return Operands(names, max(word.span[1] for word in called if word.span not in own))


def _arrays(source: bytes, simple: Sequence[tuple[Node, str]]) -> Iterator[tuple[str, str]]:
    for node, _ in simple:
        command = node["Cmd"]
        for assign in (*(command.get("Assigns") or ()), *(command.get("Args") or ())):
            for element in (assign.get("Array") or {}).get("Elems") or ():
                found = re.match(r"[\"']?([A-Za-z_][A-Za-z0-9_]*)=", raw(source, element))
                if found:
                    yield assign["Name"]["Value"], found[1]


def _options(commands: Sequence[Command]) -> Options:
    """What the `set` commands of a statement switch."""
    switched: dict[str, bool] = {}
    for command in commands:
        texts = [word.text or "" for word in command.words[past_builtin(command.words) :]]
        if texts[0] == "set" and not command.where.startswith((*HIDDEN, FUNCTION)):
            switched |= _switched(texts)
    return Options(switched.get("allexport"), switched.get("nounset"))


def _switched(texts: Sequence[str]) -> dict[str, bool]:
    names = {"a": "allexport", "u": "nounset"}
    found: dict[str, bool] = {}
    for before, text in itertools.pairwise(texts):
        if re.fullmatch(r"[-+][A-Za-z]+", text):
            found |= {names[letter]: text[0] == "-" for letter in text[1:] if letter in names}
        elif before[:1] in ("-", "+") and "o" in before:
            found[text] = before[0] == "-"
        else:
            break  # what follows are the script's arguments
    return found
