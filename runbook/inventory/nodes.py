"""A YAML document as values that remember where they were written, and how a host file lies over its profile."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Path = tuple[str | int, ...]

_LONGEST = 1000  # characters of one problem: it quotes what a file says, which may be 256 KiB


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a file; `line` and `column` count from 1."""

    source: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a host file. `key` is the dotted path of the value, empty where none is to blame."""

    at: Position
    key: str
    text: str

    def __str__(self) -> str:
        text = self.text if len(self.text) <= _LONGEST else f"{self.text[: _LONGEST - 1]}…"
        return ": ".join(part for part in (str(self.at), self.key, text) if part)


@dataclass(frozen=True, slots=True)
class Scalar:
    """`text` as written, escapes resolved; `plain` when it stood without quotes."""

    text: str
    plain: bool
    at: Position

    @property
    def is_null(self) -> bool:
        return self.plain and self.text in _NULLS


@dataclass(frozen=True, slots=True)
class Listing:
    items: tuple[Node, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping; `keys` holds where each key was written."""

    items: Mapping[str, Node]
    keys: Mapping[str, Position]
    at: Position


Node = Scalar | Listing | Table

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[-+]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})([eE][-+]?[0-9]{1,3})?")
# Ways to say the same thing: the host file's word displaces the profile's other word.
_RIVALS = frozenset({"value", "present", "absent"})


def merged(base: Node, over: Node) -> Node:
    """`over` laid on `base`: tables merge key by key, anything else replaces, null takes the base's value away."""
    if not (isinstance(base, Table) and isinstance(over, Table)):
        return over
    displaced = _RIVALS if _RIVALS & over.items.keys() else frozenset()
    kept = {key: node for key, node in base.items.items() if key not in displaced}
    items = kept | {key: merged(kept[key], node) if key in kept else node for key, node in over.items.items()}
    return Table(items, {**base.keys, **over.keys}, over.at)


def without_nulls(node: Node) -> Node:
    """The same document where a key with a null is as good as not written."""
    match node:
        case Table(items, keys, at):
            kept = {key: without_nulls(item) for key, item in items.items() if not _is_null(item)}
            return Table(kept, keys, at)
        case Listing(items=entries, at=at):
            return Listing(tuple(without_nulls(entry) for entry in entries), at)
        case _:
            return node


def plain(node: Node, literal: Callable[[Path], bool], path: Path = ()) -> Any:
    """Python values of a document by YAML's core schema; where `literal(path)` holds, scalars stay as written."""
    match node:
        case Table(items=items):
            return {key: plain(item, literal, (*path, key)) for key, item in items.items()}
        case Listing(items=entries):
            return [plain(entry, literal, (*path, index)) for index, entry in enumerate(entries)]
        case Scalar(text=text, plain=unquoted):
            return _resolved(text) if unquoted and not literal(path) else text


def at(root: Node, path: Path) -> Node | None:
    """The node at a path, None where there is none."""
    node: Node | None = root
    for part in path:
        match node, part:
            case Table(items=items), str(key):
                node = items.get(key)
            case Listing(items=entries), int(index):
                node = entries[index] if index < len(entries) else None
            case _:
                return None
    return node


def missing_from(root: Node, path: Path) -> Position:
    """Where the host file should have said a value: the nearest table of it, never its profile's."""
    for length in range(len(path) - 1, 0, -1):
        place = whereabouts(root, path[:length], of_key=True)
        if place.source == root.at.source:
            return place
    return root.at


def whereabouts(root: Node, path: Path, *, of_key: bool = False) -> Position:
    """Where a path's value (or its key) was written; for a value that is not there, where its table was."""
    for length in range(len(path), 0, -1):
        parent = at(root, path[: length - 1])
        last = path[length - 1]
        node = at(root, path[:length])
        if isinstance(parent, Table) and last in parent.keys and (of_key or length < len(path)):
            return parent.keys[str(last)]
        if node is not None:
            return node.at
    return root.at


def shown(path: Path) -> str:
    """`units.decode.health`, `validations[0].rounds`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{shown_key(part)}" for part in path)
    return text.removeprefix(".")


def shown_key(key: str) -> str:
    """A key as written when it is a plain word, else quoted with its odd characters escaped."""
    return key if re.fullmatch(r"[\x21-\x7e]{1,60}", key) else repr(key[:60])


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.is_null


def _resolved(text: str) -> str | int | float | bool | None:
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    # 0777 stays text: whether it is octal depends on the reader.
    if _NUMBER.fullmatch(text) and not re.match(r"[-+]?0[0-9]", text):
        return float(text)
    return text
