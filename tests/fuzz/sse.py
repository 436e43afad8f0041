"""Event streams: cut anywhere they say the same, a second reading of the grammar agrees, and every answer is judged."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.load.exchange import Answer, turns
from runbook.load.judgement import judge_turn
from runbook.load.session import history
from runbook.load.sse import OversizedEventError, SseParser
from tests.faultserver.inprocess import MAX_TOKENS, table
from tests.faultserver.reply import plan_of
from tests.faultserver.styles import STYLES
from tests.fuzz.mutation import cuts, mutated

if TYPE_CHECKING:
    import random

WORDS = (
    b"\r", b"\n", b"\r\n", b"\n\n", b"\r\r", b"\xef\xbb\xbf", b"data:", b"data", b"data: ", b"event:", b"id: 1", b":",
    b" ", b"\x00", b"\xff", b"\xe2\x80\xa8", b"\x0b", b"\x85", b"[DONE]", b"data: [DONE]\n\n", b"{", b"[" * 3000,
    b'{"a":' * 2000, b'"', b"\\", b"\\ud800", b"9" * 5000, b"1e999", b"NaN", b"null", b"true", b"[]", b"{}",
    b'"choices"', b'"delta"', b'"tool_calls"', b'"index"', b'"error"', b'"usage"', b'"finish_reason"', b"-",
    b'"' + b"x" * 9000 + b'"',
)  # fmt: skip

CARDS = table(3, sessions=2, rounds=1, rows=4, ctx=10)
Events = list[tuple[bytes, str]]


@dataclass(frozen=True, slots=True)
class Case:
    """A stream, where it is cut, the bounds of its reader, and which turn it is taken for an answer to."""

    stream: bytes
    pieces: tuple[bytes, ...]
    line_bytes: int
    event_bytes: int
    turn: int


def case(rng: random.Random) -> Case:
    turn = rng.randrange(len(turns(CARDS.scripts[0])))
    asked = turns(CARDS.scripts[0])[turn]
    style = rng.choice(list(STYLES.values()))
    stream = mutated(style(plan_of(asked.name, dict(asked.arguments), rng), rng), WORDS, rng)
    line = rng.choice((1 << 20, 1 << 20, 200, 40))
    return Case(stream, tuple(cuts(stream, rng)), line, rng.choice((4 << 20, 3 * line)), turn)


def hold(case: Case) -> None:
    whole = _read([case.stream], case)
    assert _read(case.pieces, case) == whole, "what is read depends on where the stream was cut"
    events, refused = whole
    wanted = _by_the_grammar(case.stream)
    assert events == (wanted[: len(events)] if refused else wanted), "the grammar says something else"
    _judge(case)


def _judge(case: Case) -> None:
    """A judge always has a judgement, it can be told as JSON, and the session can go on where it did not end."""
    script = CARDS.scripts[0]
    answer, turn = Answer(case.stream), turns(script)[case.turn]
    judgement = judge_turn(script, turn, answer, CARDS.registry, max_tokens=MAX_TOKENS)
    json.dumps([defect.to_json() for defect in judgement.defects]).encode()
    if judgement.end is None:
        json.dumps(history(script, judgement), ensure_ascii=False).encode()


def _read(pieces: list[bytes] | tuple[bytes, ...], case: Case) -> tuple[Events, bool]:
    """The events, and whether the reader refused to go on."""
    parser = SseParser(max_line_bytes=case.line_bytes, max_event_bytes=case.event_bytes)
    events: Events = []
    try:
        for piece in pieces:
            events += [(event.data, event.event) for event in parser.feed(piece)]
        events += [(event.data, event.event) for event in parser.close()]
    except OversizedEventError:
        return events, True
    return events, False


def _by_the_grammar(stream: bytes) -> Events:
    """The WHATWG text once more, on the whole stream and without bounds; the last event as `close` gives it."""
    text = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = text.split(b"\n")[:-1]
    found, data, kind = [], None, b""
    for line in [*lines, b""]:
        if not line:
            if data is not None:
                found.append((data, kind.decode("utf-8", "replace")))
            data, kind = None, b""
            continue
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data = value if data is None else data + b"\n" + value
        elif name == b"event":
            kind = value
    return found
