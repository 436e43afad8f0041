"""The statistics of rare events, exact: a bound, a comparison of two arms, a trend over waves."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_BISECTIONS = 80
_EXACT = 200
"""Events times waves up to which the trend is tested exactly, in some hundredths of a second."""


def upper_bound(events: int, trials: int, confidence: float = 0.95) -> float:
    """The exact one-sided upper bound of a rate (Clopper and Pearson, Biometrika 1934); 1.0 for no trials.

    0 of 80 gives 3.68 % at 95 %: with that rate or a higher one, 0 of 80 has a chance of 5 % at most.
    """
    if events >= trials:
        return 1.0
    low, high = events / trials, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if at_most(events, trials, middle) > 1.0 - confidence:
            low = middle
        else:
            high = middle
    return high


def at_most(events: int, trials: int, rate: float) -> float:
    """The chance of at most that many events in independent trials of one rate."""
    if rate <= 0.0:
        return 1.0
    if rate >= 1.0:
        return 1.0 if events >= trials else 0.0
    yes, no = math.log(rate), math.log1p(-rate)
    terms = (_log_choose(trials, k) + k * yes + (trials - k) * no for k in range(events + 1))
    return min(1.0, math.fsum(map(math.exp, terms)))


def fisher_greater(events: int, trials: int, other_events: int, other_trials: int) -> float:
    """Fisher's exact test, one-sided: how likely so many of all events fall in the first arm by chance.

    9 of 60 against 0 of 80 gives 3.4e-4. 1.0 where an arm is empty.
    """
    total, both = events + other_events, trials + other_trials
    if not trials or not other_trials:
        return 1.0
    most = min(total, trials)
    ways = (_log_choose(trials, k) + _log_choose(other_trials, total - k) for k in range(events, most + 1))
    return min(1.0, math.fsum(math.exp(way - _log_choose(both, total)) for way in ways))


def rising_trend(events: Sequence[int], trials: Sequence[int]) -> float:
    """One-sided test that the rate rises from wave to wave: the chance of so late a distribution of events.

    The statistic is the sum of wave numbers over events (Cochran and Armitage), its distribution the conditional
    one given the totals: exact for few events, else its normal approximation. 1.0 where there is nothing to test.
    """
    total, sizes = sum(events), sum(trials)
    if len(events) < 2 or not 0 < total < sizes:
        return 1.0
    seen = sum(wave * count for wave, count in enumerate(events))
    if total * len(events) > _EXACT:
        return _normal_trend(seen, total, trials)
    ways: dict[tuple[int, int], int] = {(0, 0): 1}
    for wave, size in enumerate(trials):
        ways = _with_wave(ways, wave, size, total)
    final = {score: count for (placed, score), count in ways.items() if placed == total}
    return sum(count for score, count in final.items() if score >= seen) / max(1, sum(final.values()))


def _normal_trend(seen: float, total: int, trials: Sequence[int]) -> float:
    sizes = sum(trials)
    mean = sum(wave * size for wave, size in enumerate(trials)) / sizes
    spread = sum(size * (wave - mean) ** 2 for wave, size in enumerate(trials)) / sizes
    variance = total * (sizes - total) / max(1, sizes - 1) * spread
    if variance <= 0.0:
        return 1.0
    return 1.0 - NormalDist().cdf((seen - 0.5 - total * mean) / math.sqrt(variance))


def _with_wave(
    ways: dict[tuple[int, int], int], wave: int, size: int, total: int
) -> dict[tuple[int, int], int]:
    """Ways to place events in one wave more: (events placed, score) → number of ways."""
    further: dict[tuple[int, int], int] = {}
    for (placed, score), count in ways.items():
        for here in range(min(size, total - placed) + 1):
            key = (placed + here, score + wave * here)
            further[key] = further.get(key, 0) + count * math.comb(size, here)
    return further


def _log_choose(n: int, k: int) -> float:
    if not 0 <= k <= n:
        return -math.inf
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
