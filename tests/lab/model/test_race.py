from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from runbook.lab.model.language import BOS
from runbook.lab.model.race import (
    DSML,
    Race,
    Splice,
    drop,
    flood,
    foreign,
    never,
    scramble,
    swap_marker,
)
from runbook.lab.model.sequence import Sequence

if TYPE_CHECKING:
    from collections.abc import Callable

OWN = [10, 11, 12, 13, 14, 15, 16, 17, DSML, 19]
OTHER = list(range(100, 130))
SEEDS = range(20)


class Silent:
    """A voice nobody hears."""

    finished = False

    def start(self) -> bytes:
        return b""

    def say(self, tokens: list[int]) -> bytes:
        return b""

    def end(self, *, length: bool) -> bytes:
        return b""


def with_batch(size: int, check: Callable[[list[Sequence]], None], tokens: int = 400) -> None:
    """Run `check` on a batch whose plans all differ."""

    async def run() -> None:
        plans = ([1000 * (number + 3) + token for token in range(tokens)] for number in range(size))
        check([Sequence(plan, Silent(), lambda piece: True, limit=tokens) for plan in plans])

    asyncio.run(run())


def strikes(race: Race, batch: list[Sequence], steps: int) -> int:
    """How many plans changed in so many decode steps that emit no token, counting a plan once a step."""
    changed = 0
    for _ in range(steps):
        before = [list(sequence.plan) for sequence in batch]
        race.strike(batch)
        changed += sum(sequence.plan != plan for sequence, plan in zip(batch, before, strict=True))
    return changed


@pytest.mark.parametrize("seed", SEEDS)
def test_foreign_tokens_are_the_others_at_the_same_place(seed: int) -> None:
    splice = foreign(OWN, OTHER, 4, random.Random(seed))
    assert splice.start == 4
    assert splice.skip == len(splice.tokens) >= 3
    assert list(splice.tokens) == OTHER[4 : 4 + splice.skip]


def test_where_the_other_is_shorter_its_beginning_is_taken() -> None:
    assert foreign(OWN, OTHER[:3], 8, random.Random(1)).tokens == (100, 101, 102)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_flood_is_token_zero_over_and_over(seed: int) -> None:
    splice = flood(OWN, OTHER, 2, random.Random(seed))
    assert set(splice.tokens) == {BOS}
    assert len(splice.tokens) >= 24


@pytest.mark.parametrize("seed", SEEDS)
def test_scrambled_tokens_are_words_in_place_of_as_many(seed: int) -> None:
    splice = scramble(OWN, OTHER, 2, random.Random(seed))
    assert splice.skip == len(splice.tokens) > 0
    assert all(3 <= token < 128_000 for token in splice.tokens)


@pytest.mark.parametrize("seed", SEEDS)
def test_dropped_tokens_are_gone(seed: int) -> None:
    splice = drop(OWN, OTHER, 2, random.Random(seed))
    assert splice.tokens == ()
    assert splice.skip > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_next_marker_is_swapped_else_one_is_put_in(seed: int) -> None:
    ahead = swap_marker(OWN, OTHER, 2, random.Random(seed))
    assert (ahead.start, ahead.skip) == (OWN.index(DSML), 1)
    assert ahead.tokens != (DSML,)
    behind = swap_marker(OWN, OTHER, 9, random.Random(seed))
    assert (behind.start, behind.skip, len(behind.tokens)) == (9, 0, 1)


def test_a_splice_leaves_what_was_said_alone() -> None:
    plan = list(OWN)
    Splice(3, 2, (7, 7, 7)).apply(plan)
    assert plan == [10, 11, 12, 7, 7, 7, *OWN[5:]]


@pytest.mark.parametrize(("size", "races"), [(1, False), (31, False), (32, True), (80, True), (128, True)])
def test_the_race_needs_a_batch_of_32_to_128(size: int, races: bool) -> None:
    def check(batch: list[Sequence]) -> None:
        assert bool(strikes(Race(random.Random(1), every=500), batch, steps=200)) is races

    with_batch(size, check)


def test_a_batch_over_128_does_not_race() -> None:
    with_batch(129, lambda batch: check_equal(strikes(Race(random.Random(1), every=500), batch, 50), 0))


@pytest.mark.parametrize("seed", range(10))
def test_every_stretch_of_tokens_has_one_strike(seed: int) -> None:
    def check(batch: list[Sequence]) -> None:
        # 40 sequences × 500 steps are 20 stretches of 1,000 tokens; a strike that changes nothing is rare.
        found = strikes(Race(random.Random(seed), every=1000), batch, steps=500)
        assert 17 <= found <= 21

    with_batch(40, check)


def test_a_seed_fixes_where_the_race_strikes() -> None:
    def plans(seed: int) -> list[list[int]]:
        found: list[list[int]] = []

        def check(batch: list[Sequence]) -> None:
            strikes(Race(random.Random(seed), every=500), batch, steps=100)
            found.extend(list(sequence.plan) for sequence in batch)

        with_batch(40, check)
        return found

    assert plans(3) == plans(3)
    assert plans(3) != plans(4)


def test_all_sequences_are_struck_alike() -> None:
    struck: Counter[int] = Counter()

    def check(batch: list[Sequence]) -> None:
        race = Race(random.Random(5), every=40)
        for _ in range(2000):
            before = [len(sequence.plan) + sum(sequence.plan[:50]) for sequence in batch]
            race.strike(batch)
            after = [len(sequence.plan) + sum(sequence.plan[:50]) for sequence in batch]
            struck.update(number for number in range(40) if before[number] != after[number])

    with_batch(40, check)
    assert len(struck) == 40


def test_without_the_race_nothing_changes() -> None:
    def check(batch: list[Sequence]) -> None:
        before = [list(sequence.plan) for sequence in batch]
        never(batch)
        assert [sequence.plan for sequence in batch] == before

    with_batch(40, check)


def check_equal(found: int, wanted: int) -> None:
    assert found == wanted
