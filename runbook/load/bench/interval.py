"""The interval of a ratio of two rates, from a few repeats of each.

Rates are compared as logarithms, so that a ratio has the same error whichever arm is the larger. The estimate is the
median of all pairwise ratios (Hodges–Lehmann), which one stray repeat does not move. Its interval is Welch's t on the
log rates, widened in quadrature by the start-to-start variation of a server that was started once per arm.

A percentile bootstrap of three to five values is too narrow (it cannot leave the range of what it saw); what each
holds at n = 3, 4, 5 and 10 is printed by `benchmarks/bench_power.py`.
"""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.load.bench.student import t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

START_CV = 0.015  # two starts of one server differ by 1–2 %


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """current / baseline: the estimate, its bounds, and the smallest loss that would have been seen.

    `detectable` is a fraction: a true loss of that size leaves the interval below 1 in 80 % of such runs.
    All but the estimate are None where an arm has fewer than two repeats.
    """

    ratio: float
    low: float | None
    high: float | None
    detectable: float | None


def ratio_interval(
    baseline: Sequence[float],
    current: Sequence[float],
    *,
    family: int = 1,
    confidence: float = 0.95,
    start_cv: float = START_CV,
) -> RatioInterval:
    """The interval of current / baseline. Each bound holds with `confidence` by itself, as a gate asks one side.

    Of a `family` of comparisons all lower bounds hold together with it, and all upper ones (Šidák), also where a start
    shifts every concurrency by itself. Raises ValueError where a rate is not positive or an arm is empty.
    """
    before, after = _logs(baseline), _logs(current)
    estimate = statistics.median(y - x for x, y in itertools.product(before, after))
    if min(len(before), len(after)) < 2:
        return RatioInterval(math.exp(estimate), None, None, None)
    error, df = _welch(before, after)
    each = confidence ** (1 / family)
    noise = t_quantile(each, df) * error
    start = start_cv * math.sqrt(2)
    half = math.hypot(noise, t_quantile(each, math.inf) * start)
    power = math.hypot(t_quantile(0.8, df) * error, t_quantile(0.8, math.inf) * start)
    return RatioInterval(
        math.exp(estimate), math.exp(estimate - half), math.exp(estimate + half), 1 - math.exp(-half - power)
    )


def _logs(rates: Sequence[float]) -> list[float]:
    if not rates or min(rates) <= 0:
        raise ValueError(f"rates must be positive, found {list(rates)}")
    return [math.log(rate) for rate in rates]


def _welch(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """Standard error of the difference of means and its degrees of freedom (Welch–Satterthwaite)."""
    parts = [(statistics.variance(arm) / len(arm), len(arm) - 1) for arm in (before, after)]
    total = sum(part for part, _ in parts)
    if total == 0:
        return 0.0, float(sum(df for _, df in parts))
    df = total**2 / sum(part**2 / df for part, df in parts)
    return math.sqrt(total), math.floor(df * 10) / 10  # rounded down: wider, and quantiles can be remembered
