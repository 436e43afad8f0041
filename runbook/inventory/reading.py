"""Bytes of a YAML file to nodes: bounded, without tags, every repeated key reported."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from runbook.errors import HostFileError
from runbook.inventory.nodes import Listing, Node, Path, Position, Problem, Scalar, Table, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE_MAX_BYTES = 256 * 1024
DEPTH_MAX = 20
NODES_MAX = 10_000

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def decoded(raw: bytes, source: str) -> str:
    """The text of a file.

    Raises HostFileError for a file over 256 KiB, bytes that are not UTF-8, and control characters.
    """
    if len(raw) > SIZE_MAX_BYTES:
        raise _refused(Position(source, 1, 1), f"is longer than {SIZE_MAX_BYTES} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        found = f"should be UTF-8, found byte 0x{raw[error.start]:02x}"
        raise _refused(_position(source, before), found) from error
    if odd := _UNPRINTABLE.search(text):
        raise _refused(_position(source, text[: odd.start()]), f"found the control character {odd[0]!r}")
    return text


def read(text: str, source: str) -> tuple[Node | None, list[Problem]]:
    """The document in `text`, None when it is empty, with the problems that did not stop the reading.

    Raises HostFileError where the text is not YAML, nests deeper than 20, holds more than 10,000 values with its
    aliases written out, or more than one document.
    """
    builder = _Builder(text, source)
    try:
        return builder.document(), builder.problems
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error, text, source) from error


class _Builder:
    """Builds nodes from libyaml's events, so that nothing is constructed before it is known to be bounded."""

    def __init__(self, text: str, source: str) -> None:
        self._events: Iterator[yaml.Event] = yaml.parse(text, Loader=_Loader)
        self._source = source
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._count = 0
        self.problems: list[Problem] = []

    def document(self) -> Node | None:
        root: Node | None = None
        for event in self._events:
            if isinstance(event, yaml.NodeEvent):
                if root is not None:
                    raise _refused(self._at(event), "a second document starts here; a file holds one")
                root = self._node(event, ())
        return root

    def _node(self, event: yaml.Event, path: Path) -> Node:
        at = self._at(event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, at)
        before = self._count
        self._counted(1, at)
        if len(path) > DEPTH_MAX:
            raise _refused(at, f"nests deeper than {DEPTH_MAX} levels")
        if tag := getattr(event, "tag", None):
            self._report(at, path, f"the tag {tag} is not allowed; write the plain value")
        node = self._built(event, at, path)
        if anchor := getattr(event, "anchor", None):
            self._anchors[anchor] = (node, self._count - before)
        return node

    def _built(self, event: yaml.Event, at: Position, path: Path) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            return Scalar(event.value, bool(event.implicit[0]), at)
        if isinstance(event, yaml.SequenceStartEvent):
            entries = enumerate(iter(self._next, None))
            return Listing(tuple(self._node(entry, (*path, index)) for index, entry in entries), at)
        return self._table(at, path)

    def _table(self, at: Position, path: Path) -> Table:
        items: dict[str, Node] = {}
        keys: dict[str, Position] = {}
        while (event := self._next()) is not None:
            key_at, key = self._at(event), self._key(event)
            here = (*path, key)
            item = self._node(self._required(), here)
            if key == "<<":
                self._report(key_at, here, "merge keys are not read; put what is shared in a profile")
            elif key in items:
                self._report(key_at, here, f"is written twice, first on line {keys[key].line}; keep one")
            else:
                items[key], keys[key] = item, key_at
        return Table(items, keys, at)

    def _key(self, event: yaml.Event) -> str:
        if isinstance(event, yaml.ScalarEvent) and not event.anchor and not event.tag:
            return str(event.value)
        raise _refused(
            self._at(event),
            "a key should be plain text ({{ … }} is filled in only for a host that is given variables, the lab)",
        )

    def _alias(self, event: yaml.AliasEvent, at: Position) -> Node:
        if event.anchor not in self._anchors:
            raise _refused(at, f"*{event.anchor} stands for nothing above it")
        node, size = self._anchors[event.anchor]
        self._counted(size, at)
        return node

    def _counted(self, size: int, at: Position) -> None:
        self._count += size
        if self._count > NODES_MAX:
            raise _refused(at, f"holds more than {NODES_MAX} values with its aliases written out")

    def _next(self) -> yaml.Event | None:
        """The next event inside a collection, None at its end."""
        event = self._required()
        return None if isinstance(event, yaml.CollectionEndEvent) else event

    def _required(self) -> yaml.Event:
        return next(self._events)

    def _report(self, at: Position, path: Path, text: str) -> None:
        self.problems.append(Problem(at, shown(path), text))

    def _at(self, event: yaml.Event) -> Position:
        return _marked(self._source, event.start_mark)


def _position(source: str, before: str) -> Position:
    lines = before.split("\n")
    return Position(source, len(lines), len(lines[-1]) + 1)


def _refused(at: Position, text: str) -> HostFileError:
    return HostFileError([str(Problem(at, "", text))])


def _not_yaml(error: yaml.MarkedYAMLError, text: str, source: str) -> HostFileError:
    at = _marked(source, error.problem_mark or error.context_mark)
    lines = text.split("\n")
    found = lines[at.line - 1][at.column - 1 : at.column] if at.line <= len(lines) else ""
    return _refused(
        at, "found a tab; indent with spaces" if found == "\t" else f"is not YAML: {_reason(error)}"
    )


def _marked(source: str, mark: yaml.error.Mark | Any) -> Position:
    return Position(source, mark.line + 1, mark.column + 1) if mark else Position(source, 1, 1)


def _reason(error: yaml.MarkedYAMLError) -> str:
    return ", ".join(part for part in (error.context, error.problem) if part)
