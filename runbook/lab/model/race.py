"""The project's bug: under the captured decode graph two streams race, and tokens come out damaged.

It acts at decode batches of 32 to 128 with index keys in bf16 and multi-stream overlap on, and shows as the field
saw it: tokens of another running request, floods of token 0, random tokens, tokens lost, markers swapped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.lab.model.language import BOS

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from runbook.lab.model.sequence import Sequence as Running

BATCHES = range(32, 129)
"""Batch sizes that race: below 32 the index kernel is done in time, above 128 the graph is not used."""

TOKENS_A_STRIKE = 4_800
"""One strike in so many tokens: 16.7 % of 60 × 4 sessions corrupt over 30 runs (benchmarks/lab_race.py)."""

DSML, THINK, THINK_END, ASSISTANT, USER = 128825, 128821, 128822, 128804, 128803
_MARKERS = (THINK, THINK_END, ASSISTANT, USER)
_WORDS = range(3, 128_000)


@dataclass(frozen=True, slots=True)
class Splice:
    """What happens to a plan: from `start`, `skip` tokens are replaced by `tokens`."""

    start: int
    skip: int
    tokens: tuple[int, ...]

    def apply(self, plan: list[int]) -> None:
        plan[self.start : self.start + self.skip] = self.tokens


def foreign(plan: Sequence[int], other: Sequence[int], at: int, random: random.Random) -> Splice:
    """Tokens of another request's answer at the same place, else at its beginning."""
    length = random.randint(6, 16)
    taken = other[at : at + length] or other[:length]
    return Splice(at, len(taken), tuple(taken))


def flood(plan: Sequence[int], other: Sequence[int], at: int, random: random.Random) -> Splice:
    """Token 0, begin of sentence, over and over."""
    length = random.randint(24, 64)
    return Splice(at, length, (BOS,) * length)


def scramble(plan: Sequence[int], other: Sequence[int], at: int, random: random.Random) -> Splice:
    """A few tokens from anywhere in the vocabulary."""
    length = random.randint(2, 6)
    return Splice(at, length, tuple(random.choices(_WORDS, k=length)))


def drop(plan: Sequence[int], other: Sequence[int], at: int, random: random.Random) -> Splice:
    """A few tokens lost."""
    return Splice(at, random.randint(3, 10), ())


def swap_marker(plan: Sequence[int], other: Sequence[int], at: int, random: random.Random) -> Splice:
    """The next DSML marker becomes a think or role marker; without one ahead such a marker is put in."""
    marker = random.choice(_MARKERS)
    try:
        return Splice(plan.index(DSML, at), 1, (marker,))
    except ValueError:
        return Splice(at, 0, (marker,))


DAMAGES = (foreign, flood, scramble, drop, swap_marker)
_WEIGHTS = (6, 2, 3, 2, 2)


class Race:
    """Strikes once in every stretch of `every` tokens, at a random place of it.

    A stretch rather than a die a token keeps the share of corrupt sessions of a single run near its mean.
    """

    def __init__(self, random: random.Random, *, every: int = TOKENS_A_STRIKE) -> None:
        self._random, self._every = random, every
        self._place = random.randrange(every)
        self._left = self._place

    def strike(self, running: Sequence[Running]) -> None:
        """See the batch before a decode step; now and then splice the plan of one of its sequences."""
        if len(running) not in BATCHES:
            return
        self._left -= len(running)
        if self._left < 0:
            self._next()
            self._hit([sequence for sequence in running if not sequence.ended])

    def _next(self) -> None:
        place = self._random.randrange(self._every)
        self._left += self._every - self._place + place
        self._place = place

    def _hit(self, live: Sequence[Running]) -> None:
        if len(live) < 2:
            return
        victim, donor = self._random.sample(live, 2)
        damage = self._random.choices(DAMAGES, _WEIGHTS)[0]
        damage(victim.plan, donor.plan, victim.position, self._random).apply(victim.plan)


def never(running: Sequence[Running]) -> None:
    """No race: overlap is off, or index keys are not bf16."""
