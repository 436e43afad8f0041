"""What pydantic found wrong, in our words and with the place it was written."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from runbook.inventory import tables
from runbook.inventory.nodes import (
    Listing,
    Node,
    Path,
    Problem,
    Scalar,
    Table,
    at,
    missing_from,
    shown,
    shown_key,
    whereabouts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic_core import ErrorDetails

_SHOULD = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text (put it in quotes)",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "finite_number": "a finite number",
}
_BOUND = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}
# A file may be wrong ten thousand times; looking for what was meant stays cheap.
_LISTED = 200
_NEEDS = {
    "ssh": "an alias of ~/.ssh/config, or {address, user, port, key}",
    "units": "one entry a role, such as decode: {unit, script, health}",
    "model": "the served model name that chat asks for",
}


def of_schema(errors: Iterable[ErrorDetails], root: Node, *, whole: bool = True) -> list[Problem]:
    """One problem an error of pydantic, at the value that is to blame.

    A document that is not `whole`, because its profile could not be read, is not blamed for what it leaves out.
    """
    return [_problem(error, root) for error in errors if whole or error["type"] != "missing"]


def near(word: str, known: Iterable[str]) -> str | None:
    """The known word (of the first 200) that `word` was probably meant to be, None when none is close."""
    folded = {name.lower(): name for name in sorted(known)[:_LISTED]}
    close = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.75)
    return folded[close[0]] if close else None


def suggestion(word: str, known: Iterable[str]) -> str:
    """`did you mean x?`, or the list of what is known."""
    names = sorted(known)[:_LISTED]
    close = near(word, names)
    listed = ", ".join(map(shown_key, names)) or "none"
    return f"did you mean {shown_key(close)}?" if close else f"known: {listed}"


def found(node: Node | None) -> str:
    """How a value is named in a message: the scalar as written, at most 60 characters of it."""
    match node:
        case Scalar(text=text, plain=plain):
            # A URL may carry a password.
            shown_text = re.sub(r"//[^/@]*@", "//***@", text)
            short = shown_text if len(shown_text) <= 60 else f"{shown_text[:59]}…"
            return short if plain and re.fullmatch(r"[\x21-\x7e]+", short) else repr(short)
        case Listing():
            return "a list"
        case Table():
            return "a mapping"
        case None:
            return "nothing"


def _problem(error: ErrorDetails, root: Node) -> Problem:
    path: Path = tuple(part for part in error["loc"] if part not in tables.BRANCHES and part != "[key]")
    kind = error["type"]
    of_key = kind == "extra_forbidden" or "[key]" in error["loc"]
    place = missing_from(root, path) if kind == "missing" else whereabouts(root, path, of_key=of_key)
    return Problem(place, shown(path), _text(error, path, root, of_key=of_key))


def _text(error: ErrorDetails, path: Path, root: Node, *, of_key: bool) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "missing":
        needs = _NEEDS.get(shown(path))
        return f"is required: {needs}" if needs else "is required"
    if kind == "extra_forbidden":
        return f"is no key here; {_suggested_key(path, root)}"
    saw = found(Scalar(str(path[-1]), plain=True, at=root.at)) if of_key else found(at(root, path))
    return f"{_should(kind, context, error['msg'])}, found {saw}"


def _suggested_key(path: Path, root: Node) -> str:
    """What the key was meant to be: one that is there already may come from the profile, and is still what was meant."""
    parent = at(root, path[:-1])
    taken = set(parent.items) if isinstance(parent, Table) else set()
    table = tables.table_at(path[:-1], taken)
    known = set(table.model_fields) if table else set()
    close = near(str(path[-1]), known - taken) or near(str(path[-1]), known)
    return f"did you mean {close}?" if close else f"known: {', '.join(sorted(known))}"


def _should(kind: str, context: dict[str, Any], message: str) -> str:
    if kind in _SHOULD:
        return f"should be {_SHOULD[kind]}"
    if kind in _BOUND:
        word, name = _BOUND[kind]
        return f"should be {word} {context[name]:g}"
    if kind == "literal_error":
        return f"should be {context['expected'].replace(chr(39), '').replace('True', 'true')}"
    if kind == "too_short":
        return "should not be empty"
    return message
