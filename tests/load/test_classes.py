"""Every corruption class, injected and detected: the right class, the right session, nothing else."""

from __future__ import annotations

import pytest

from runbook.load.defects import Severity
from runbook.load.judges import PRIORITY, judges
from tests.faultserver.damage import DAMAGES
from tests.faultserver.inprocess import damaged, right, table

SEEDS = range(20)
SEVERITY = {
    **dict.fromkeys(
        ("flood", "leak", "badtool", "merged", "truncated", "foreign", "badvalue", "badutf8", "badusage"),
        Severity.HARD,
    ),
    **dict.fromkeys(("badjson", "badfinish", "garbled", "loop", "empty", "duplicate"), Severity.SOFT),
    **dict.fromkeys(("slip", "miscopy"), Severity.RATE),
    "streamerror": Severity.INFRA,
}


def test_every_judge_has_a_damage_a_place_and_a_severity() -> None:
    assert set(judges()) == set(DAMAGES) == set(PRIORITY) == set(SEVERITY)


@pytest.mark.parametrize("kind", sorted(DAMAGES))
@pytest.mark.parametrize("seed", SEEDS)
def test_an_injected_class_is_detected_as_itself(kind: str, seed: int) -> None:
    cards = table(seed, sessions=2, rows=6, ctx=20)
    victim, round_number = cards.rng.randrange(2), cards.rng.randrange(1, 3)
    records = [cards.play(script, damaged(cards, kind, victim, round_number)) for script in cards.scripts]
    unclean = [record for record in records if not record.clean]
    assert [record.session for record in unclean] == [victim]
    found = unclean[0].seen
    assert (kind, SEVERITY[kind]) in {(seen.defect.kind, seen.defect.severity) for seen in found}
    assert {seen.round for seen in found} == {round_number}
    hard = SEVERITY[kind] is Severity.HARD
    assert unclean[0].corrupt == hard
    assert not hard or unclean[0].end == kind


@pytest.mark.parametrize("seed", SEEDS)
def test_clean_sessions_have_no_defect(seed: int) -> None:
    cards = table(seed)
    assert all(cards.play(script, right).clean for script in cards.scripts)


def test_one_damaged_session_of_eighty_is_found() -> None:
    cards = table(5, sessions=80, rounds=2, rows=6, ctx=20)
    records = [cards.play(script, damaged(cards, "badvalue", 41, 2)) for script in cards.scripts]
    assert [record.session for record in records if record.corrupt] == [41]
