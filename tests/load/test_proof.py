"""The whole chain at once: styles over the wire, one damaged token among eighty sessions, a mixture of every class."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runbook.load.defects import Severity
from runbook.load.outcome import Outcome
from tests.faultserver.damage import DAMAGES
from tests.faultserver.inprocess import damaged, right, table
from tests.faultserver.reply import pieces
from tests.faultserver.server import Behaviour, Request
from tests.faultserver.styles import STYLES
from tests.load.test_run import OPTIONS, run

if TYPE_CHECKING:
    from runbook.load.exchange import Turn
    from runbook.load.script import Script
    from tests.faultserver.inprocess import Answering, Table
    from tests.faultserver.reply import Plan

SEEDS = range(20)


def in_style(name: str, *, pieces_: int, pause_s: float) -> Outcome:
    def choose(request: Request) -> Behaviour:
        assert request.plan is not None
        stream = STYLES[name](request.plan, random.Random(request.number))
        return Behaviour(stream=stream, pieces=pieces_, pause_s=pause_s)

    result = run(choose, replace(OPTIONS, sessions=3, rows=8))
    assert result.counts == {"maxrounds": 3}, result.findings
    assert (result.slips, result.soft) == (0, 0)
    return result.outcome


@pytest.mark.real
@pytest.mark.parametrize("name", sorted(STYLES))
def test_every_correct_server_passes_over_the_wire_however_its_bytes_are_cut(name: str) -> None:
    assert in_style(name, pieces_=random.Random(name).randint(1, 400), pause_s=0.0) is Outcome.PASS


@pytest.mark.real
def test_a_slow_server_passes() -> None:
    assert in_style("plain", pieces_=25, pause_s=0.02) is Outcome.PASS


def one_token_off(cards: Table, victim: int, round_number: int) -> Answering:
    """Right streams but for one token, of 3 characters, in one store_record of one session."""

    def answering(script: Script, turn: Turn, plan: Plan) -> bytes:
        if (script.session, turn.round, turn.name) != (victim, round_number, "store_record"):
            return right(script, turn, plan)
        tokens = list(pieces(plan.text, 3))
        inside = [at for at, token in enumerate(tokens) if token.isalpha()]
        at = cards.rng.choice(inside[8:])
        tokens[at] = "".join(cards.rng.choices("bcdfghjkmn", k=3)) if tokens[at] != "bcd" else "nmk"
        return right(script, turn, replace(plan, arguments=tuple(tokens)))

    return answering


@pytest.mark.parametrize("seed", SEEDS)
def test_one_token_of_one_round_of_one_session_of_eighty_is_noticed_where_it_is(seed: int) -> None:
    cards = table(seed, sessions=80, rounds=3, rows=8, ctx=20)
    victim, round_number = cards.rng.randrange(80), cards.rng.randrange(1, 4)
    records = [cards.play(script, one_token_off(cards, victim, round_number)) for script in cards.scripts]
    assert [record.session for record in records if not record.clean] == [victim]
    seen = records[victim].seen
    assert {one.round for one in seen} == {round_number}
    assert all(one.defect.offset > 0 for one in seen)
    kinds = {one.defect.kind for one in seen}
    assert kinds <= {"slip", "badvalue", "foreign"}, kinds


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mixture_of_classes_is_told_apart(seed: int) -> None:
    """Sixty sessions, a third of them damaged, each by a class of its own: no other one is touched."""
    cards = table(seed, sessions=60, rounds=2, rows=6, ctx=20)
    victims = dict(zip(cards.rng.sample(range(60), len(DAMAGES)), DAMAGES, strict=True))
    records = [
        cards.play(script, damaged(cards, victims[script.session], script.session, 1 + script.session % 2))
        if script.session in victims
        else cards.play(script, right)
        for script in cards.scripts
    ]
    assert {record.session for record in records if not record.clean} == set(victims)
    found = Counter(
        kind
        for session, kind in victims.items()
        if any(one.defect.kind == kind for one in records[session].seen)
    )
    assert found == Counter(DAMAGES.keys())
    hard = {
        session
        for session in victims
        if any(one.defect.severity is Severity.HARD for one in records[session].seen)
    }
    assert {record.session for record in records if record.corrupt} == hard
