"""Streams no server should send: judged and gone on with, never raised over."""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from runbook.load.exchange import Answer, turns
from runbook.load.judgement import judge_turn
from runbook.load.session import history
from tests.faultserver.inprocess import MAX_TOKENS, table
from tests.faultserver.reply import encoded, events_of, plan_of

if TYPE_CHECKING:
    from collections.abc import Iterator

WEIRD: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 1.5, float("nan"), float("inf"), "", "x", "\ud800", "\x00", [], {}, [[]], [None],
    {"a": 1}, ["store_record"], [{"function": []}], [{"function": {"name": {}, "arguments": [1]}}],
    [{"index": True, "id": {}}], "[" * 20_000,
)  # fmt: skip


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a JSON document, its own first."""
    yield path
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


def spoiled(document: Any, rng: random.Random) -> Any:
    """The document with one value replaced by one that has no business there."""
    path, weird = rng.choice(list(places(document))), copy.deepcopy(rng.choice(WEIRD))
    if not path:
        return weird
    node = document
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = weird
    return document


def hostile(stream: bytes, rng: random.Random) -> bytes:
    """The stream with some bytes replaced."""
    changed = bytearray(stream)
    for _ in range(rng.randint(0, 4)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("seed", range(300))
def test_whatever_a_server_streams_is_judged_and_can_be_answered(seed: int) -> None:
    rng, cards = random.Random(seed), table(3, sessions=2, rounds=1, rows=4, ctx=10)
    script = cards.scripts[0]
    turn = rng.choice(turns(script))
    events = events_of(plan_of(turn.name, dict(turn.arguments), rng))
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(events))
        events[at] = spoiled(events[at], rng)
    stream = hostile(encoded(events), rng)
    judgement = judge_turn(script, turn, Answer(stream), cards.registry, max_tokens=MAX_TOKENS)
    json.dumps([defect.to_json() for defect in judgement.defects]).encode()
    if judgement.end is None:
        json.dumps(history(script, judgement), ensure_ascii=False).encode()


@pytest.mark.parametrize("calls", [3, "x", True, {"index": 0}, 1.5])
def test_tool_calls_that_are_no_list_break_the_stream(calls: Any) -> None:
    cards = table(1, sessions=1, rounds=1, rows=2)
    turn = turns(cards.scripts[0])[0]
    events = events_of(plan_of(turn.name, dict(turn.arguments), cards.rng))
    events[0]["choices"][0]["delta"]["tool_calls"] = calls
    judgement = judge_turn(
        cards.scripts[0], turn, Answer(encoded(events)), cards.registry, max_tokens=MAX_TOKENS
    )
    assert judgement.end == "truncated"


@pytest.mark.parametrize(
    ("pieces", "kinds"),
    [(("\ud83d", "\ude00"), []), (("so \ud83d", " on"), ["badutf8"]), (("\ude00",), ["badutf8"])],
)
def test_half_a_character_is_found_and_one_cut_in_two_is_whole(
    pieces: tuple[str, ...], kinds: list[str]
) -> None:
    cards = table(1, sessions=1, rounds=1, rows=2)
    script = cards.scripts[0]
    turn = turns(script)[0]
    events = events_of(plan_of(turn.name, dict(turn.arguments), cards.rng))
    said = [copy.deepcopy(events[0]) for _ in pieces]
    for event, piece in zip(said, pieces, strict=True):
        event["choices"][0]["delta"] = {"content": piece}
    judgement = judge_turn(
        script, turn, Answer(encoded([*said, *events])), cards.registry, max_tokens=MAX_TOKENS
    )
    assert [defect.kind for defect in judgement.defects] == kinds
    if not kinds:
        assert history(script, judgement)[0]["content"] == "\N{GRINNING FACE}"
