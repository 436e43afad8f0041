"""Correct servers with habits never raise an alarm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faultserver.inprocess import table
from tests.faultserver.styles import STYLES, every_style

if TYPE_CHECKING:
    from runbook.load.exchange import Turn
    from runbook.load.script import Script
    from tests.faultserver.inprocess import Answering, Table
    from tests.faultserver.reply import Plan
    from tests.faultserver.styles import Style


def in_style(cards: Table, style: Style) -> Answering:
    def answering(script: Script, turn: Turn, plan: Plan) -> bytes:
        return style(plan, cards.rng)

    return answering


@pytest.mark.parametrize("name", sorted(STYLES))
@pytest.mark.parametrize("seed", range(3))
def test_an_odd_but_correct_server_is_clean(name: str, seed: int) -> None:
    cards = table(seed, sessions=2)
    records = [cards.play(script, in_style(cards, STYLES[name])) for script in cards.scripts]
    assert [(record.end, record.seen) for record in records] == [("maxrounds", ())] * 2


def alarms(sessions: int, *, rows: int) -> list[str]:
    cards = table(77, sessions=sessions, rounds=1, rows=rows, ctx=30)
    styles = every_style(sessions)
    played = (
        (name, cards.play(script, in_style(cards, style)))
        for script, (name, style) in zip(cards.scripts, styles, strict=True)
    )
    return [f"{name}: {record.end} {record.seen}" for name, record in played if not record.clean]


def test_a_thousand_clean_sessions_raise_no_alarm() -> None:
    assert alarms(1000, rows=2) == []


@pytest.mark.heavy
def test_ten_thousand_clean_sessions_raise_no_alarm() -> None:
    assert alarms(10_000, rows=24) == []
