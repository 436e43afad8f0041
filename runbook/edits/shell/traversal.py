"""Walks over the syntax tree: the simple commands under a statement, and the variables its expansions read or write."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook.edits.shell.words import NAME, end, start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.edits.shell.parser import Node

SUBSHELL, BACKGROUND, FUNCTION = "a subshell", "the background", "the function"
# Positions and texts, which hold nothing to look into
_LEAVES = frozenset(
    {"Pos", "End", "ValuePos", "ValueEnd", "Position", "OpPos", "Left", "Right", "Semicolon", "Comments"}
)
# Without any of these a simple command expands nothing and runs nothing
_EXPANDS = re.compile(rb"[$`(\[]")
_BRANCHES = (dict, list)
_DEFAULTING = frozenset({":-", "-", ":+", "+", ":=", "="})
_ARITHMETIC_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_DIVISIONS = frozenset({"/", "%", "/=", "%="})
_COMPARISONS = frozenset({"==", "!=", "<=", ">="})


def simple_commands(statement: Node, where: str = "") -> Iterator[tuple[Node, str]]:
    """Every statement below (and with) this one that is one simple command, and the construct it stands under.

    The construct is "" for the statement itself; of nested ones the outermost counts, except that a
    function or subshell inside says more.
    """
    command = statement.get("Cmd")
    if command is None:
        return
    simple = command["Type"] in ("CallExpr", "DeclClause")
    if statement.get("Background"):
        where = BACKGROUND if simple and not where else _within(where, SUBSHELL)
    elif statement.get("Negated"):
        where = _within(where, "a negation")
    if simple:
        yield statement, where
        return
    for child, construct in _children(command):
        yield from simple_commands(child, _within(where, construct))


@dataclass(slots=True)
class Survey:
    """What one walk over a statement finds.

    `mentions` are the names its expansions use, `reads` those that must be set under `set -u`, `writes` those they
    give a value (`${K:=0}`, `$((K+=1))`); `runs`: a command or process substitution; `loops`: the variables of for
    and select, as nodes; `functions`: names of the functions it defines; `documents`: it has here-documents; `fallible`:
    an expansion that may fail, upon which bash drops what is left of its line and goes on at the next.
    """

    reads: set[str] = field(default_factory=set)
    mentions: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    loops: list[Node] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    runs: bool = False
    documents: bool = False
    fallible: bool = False


def survey(source: bytes, statement: Node) -> Survey:
    """Walk over everything below a statement once."""
    found = Survey()
    simple = (statement.get("Cmd") or {}).get("Type") in (
        "CallExpr",
        "DeclClause",
    ) and "Redirs" not in statement
    if simple and not _EXPANDS.search(source, start(statement), end(statement)):
        return found
    stack: list[Any] = [statement]
    while stack:
        node = stack.pop()
        if type(node) is dict:
            note = _NOTES.get(node.get("Type", ""))
            if note:
                note(found, node)
            elif "OpPos" in node:
                _note_redirection(found, node)
            stack += [value for key, value in node.items() if type(value) in _BRANCHES and key not in _LEAVES]
        elif type(node) is list:
            stack += node
    return found


def _note_redirection(found: Survey, node: Node) -> None:
    found.documents |= node.get("Op") in ("<<", "<<-")
    variable = (node.get("N") or {}).get("Value", "")
    if variable.startswith("{"):
        found.writes.add(variable.strip("{}"))


def _note_parameter(found: Survey, node: Node) -> None:
    name = (node.get("Param") or {}).get("Value", "")
    operator = (node.get("Exp") or {}).get("Op")
    found.fallible |= "Slice" in node or _is_indirect(node)
    if not NAME.match(name):
        return
    found.mentions.add(name)
    if operator in (":=", "="):
        found.writes.add("" if node.get("Excl") else name)
    if operator not in _DEFAULTING:
        found.reads.add(name)


def _is_indirect(node: Node) -> bool:
    """`${!NAME}`, and no list of names or of an array's keys."""
    return bool(node.get("Excl")) and not node.get("Names") and _text_of(node.get("Index")) not in ("@", "*")


def _note_arithmetic(found: Survey, node: Node) -> None:
    left, right = (_arithmetic_name(node.get(side)) for side in ("X", "Y"))
    named = {name for name in (left, right) if name}
    found.reads |= named
    found.mentions |= named
    operator = node.get("Op", "")
    found.fallible |= operator in _DIVISIONS
    if left and (operator in ("++", "--") or (operator.endswith("=") and operator not in _COMPARISONS)):
        found.writes.add(left)


def _note_substitution(found: Survey, _: Node) -> None:
    found.runs = True


def _note_loop(found: Survey, node: Node) -> None:
    found.loops.append(node["Name"])


def _note_function(found: Survey, node: Node) -> None:
    if node.get("Name"):
        found.functions.append(node["Name"]["Value"])


def _note_test(found: Survey, node: Node) -> None:
    """`[[ 1 -eq K=3 ]]` is arithmetic too."""
    if node.get("Op") not in _ARITHMETIC_TESTS:
        return
    for side in ("X", "Y"):
        written = re.findall(r"([A-Za-z_][A-Za-z0-9_]*)\s*[-+*/%&|^<>]*=", _text_of(node.get(side)))
        found.writes.update(written)


def _note_coprocess(found: Survey, node: Node) -> None:
    name = _text_of(node.get("Name")).partition("=")[0]  # mvdan/sh takes `coproc K=1 python` for a name too
    if NAME.match(name):
        found.writes.add(name)


def _note_let(found: Survey, node: Node) -> None:
    """`let 'K = 5'`: of quoted arithmetic every name, whether it is read or written."""
    stack: list[Any] = list(node.get("Exprs") or ())
    while stack:
        piece = stack.pop()
        stack += piece.get("Parts") or ()
        if piece.get("Type") in ("SglQuoted", "DblQuoted"):
            found.writes.update(re.findall(r"[A-Za-z_]\w*", piece.get("Value", "")))
        elif piece.get("Type") == "Lit":
            found.writes.update(re.findall(r"([A-Za-z_]\w*)\s*[-+*/%&|^<>]*=", piece.get("Value", "")))


_NOTES = {
    "LetClause": _note_let,
    "BinaryTest": _note_test,
    "CoprocClause": _note_coprocess,
    "ParamExp": _note_parameter,
    "BinaryArithm": _note_arithmetic,
    "UnaryArithm": _note_arithmetic,
    "ParenArithm": _note_arithmetic,
    "ArithmExp": _note_arithmetic,
    "ArithmCmd": _note_arithmetic,
    "CmdSubst": _note_substitution,
    "ProcSubst": _note_substitution,
    "WordIter": _note_loop,
    "FuncDecl": _note_function,
}


def _arithmetic_name(operand: Any) -> str:
    found = re.match(r"[A-Za-z_][A-Za-z0-9_]*", _text_of(operand))
    return found[0] if found else ""


def _text_of(word: Any) -> str:
    """The first literal piece of a word, else nothing."""
    parts = word.get("Parts", ()) if isinstance(word, dict) else ()
    return str(parts[0].get("Value", "")) if parts and parts[0].get("Type") == "Lit" else ""


def _within(outer: str, inner: str) -> str:
    if inner.startswith((SUBSHELL, FUNCTION)) and not outer.startswith((SUBSHELL, FUNCTION)):
        return inner
    return outer or inner


def _children(command: Node) -> Iterator[tuple[Node, str]]:
    kind = command["Type"]
    if kind == "BinaryCmd":
        operator = command["Op"]
        construct = operator if operator in ("&&", "||") else "a pipeline"
        yield from ((command[side], construct) for side in ("X", "Y"))
    elif kind == "FuncDecl":
        yield command["Body"], f"{FUNCTION} {(command.get('Name') or {}).get('Value', '')}".strip()
    elif kind in ("TimeClause", "CoprocClause"):
        if command.get("Stmt"):
            yield command["Stmt"], "time" if kind == "TimeClause" else SUBSHELL
    elif kind == "CaseClause":
        for item in command.get("Items") or ():
            yield from ((child, "a case") for child in item.get("Stmts") or ())
    else:
        yield from _listed(command, kind)


_CONSTRUCTS = {
    "IfClause": "an if",
    "WhileClause": "a loop",
    "ForClause": "a loop",
    "Subshell": SUBSHELL,
    "Block": "",
}


def _listed(command: Node, kind: str) -> Iterator[tuple[Node, str]]:
    construct = _CONSTRUCTS.get(kind, "")
    for branch in ("Cond", "Then", "Do", "Stmts"):
        children = command.get(branch)
        if isinstance(children, list):
            yield from ((child, construct) for child in children)
    if kind == "IfClause" and command.get("Else"):
        yield from _listed(command["Else"], kind)
