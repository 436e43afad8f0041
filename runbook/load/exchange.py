"""One turn of a session: what was to be called, what came back, and everything a judge may look at."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook.load.assembly import assemble
from runbook.load.values import compare, compare_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.load.assembly import Reply
    from runbook.load.nonces import Registry
    from runbook.load.script import Script
    from runbook.load.values import Fault


@dataclass(frozen=True, slots=True)
class Answer:
    """What the network gave for one request.

    `end`: `complete` (the body ended as HTTP says), `cut` (it ended before that), or an infra end: `error`,
    `timeout`, `refused`, `abort`, `cancelled`. `stream` holds whatever came.
    """

    stream: bytes
    end: str = "complete"
    detail: str = ""
    status: int = 200


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a session: its number and round (both from 1; the last round is finish) and its right call."""

    number: int
    round: int
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A turn and its reply, with what judges compare against.

    `cut`: the body ended before HTTP said so. `max_tokens` is the request's limit. `faults` are the wrong values
    of the call, each with the byte offset where it was seen.
    """

    script: Script
    turn: Turn
    reply: Reply
    cut: bool
    registry: Registry
    max_tokens: int
    faults: tuple[tuple[Fault, int], ...]

    def faults_of(self, kind: str) -> Iterator[tuple[Fault, int]]:
        """The wrong values of one corruption class."""
        return ((fault, offset) for fault, offset in self.faults if fault.kind == kind)


def examine(script: Script, turn: Turn, answer: Answer, registry: Registry, max_tokens: int) -> Exchange:
    """Assemble an answer and compare its call's values with the right ones."""
    reply = assemble(answer.stream)
    faults = tuple(_faults(reply, turn, script.session, registry))
    return Exchange(script, turn, reply, answer.end == "cut", registry, max_tokens, faults)


def _faults(reply: Reply, turn: Turn, session: int, registry: Registry) -> Iterator[tuple[Fault, int]]:
    for call in reply.calls:
        if call.name != turn.name:
            continue
        text = call.arguments.text
        try:
            faults = compare(parse_arguments(text), turn.arguments, session, registry)
        except ValueError:
            faults = compare_text(text, turn.arguments)
        for fault in faults:
            yield fault, call.arguments.offset(max(0, text.find(fault.found)))


def turns(script: Script) -> list[Turn]:
    """The turns of a session in order: fetch_record and store_record a round, finish at the end."""
    found: list[Turn] = []
    for number, record in enumerate(script.records, 1):
        fetch = {"key": record.key}
        store = {"key": record.key, "rows": list(record.rows)}
        found.append(Turn(len(found) + 1, number, "fetch_record", fetch))
        found.append(Turn(len(found) + 1, number, "store_record", store))
    found.append(Turn(len(found) + 1, len(script.records) + 1, "finish", {"code": script.code}))
    return found


class DuplicateKeyError(ValueError):
    """A JSON object names a key twice."""


def parse_arguments(text: str) -> dict[str, Any]:
    """The one JSON object that a call's arguments must be; raises ValueError for anything else."""
    try:
        document = json.loads(text, object_pairs_hook=_unique)
    except RecursionError as error:
        raise ValueError("arguments are nested too deeply") from error
    if not isinstance(document, dict):
        raise ValueError(f"arguments are a JSON {type(document).__name__}, not an object")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DuplicateKeyError("a key stands twice in the arguments")
    return found
