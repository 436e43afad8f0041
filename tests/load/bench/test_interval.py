from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.load.bench.interval import START_CV, ratio_interval

RATES = st.lists(st.floats(1, 1e5), min_size=2, max_size=8)


def test_equal_arms_have_the_ratio_1_and_room_for_a_start() -> None:
    found = ratio_interval([100, 100, 100], [100, 100, 100])
    assert found.ratio == 1
    assert found.low == pytest.approx(math.exp(-1.644854 * math.sqrt(2) * START_CV), rel=1e-5)


def test_one_stray_repeat_does_not_move_the_ratio() -> None:
    assert ratio_interval([100, 101, 99, 100, 30], [90, 91, 89, 90, 90]).ratio == pytest.approx(0.9, rel=0.02)


def test_a_single_repeat_gives_a_ratio_and_no_interval() -> None:
    found = ratio_interval([100], [90, 91])
    assert (round(found.ratio, 3), found.low, found.high, found.detectable) == (0.905, None, None, None)


@pytest.mark.parametrize("rates", [[], [0.0, 1.0], [-1.0, 2.0]])
def test_rates_must_be_positive(rates: list[float]) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        ratio_interval([1.0, 2.0], rates)


@given(RATES, RATES)
def test_swapping_the_arms_inverts_the_interval(before: list[float], after: list[float]) -> None:
    there, back = ratio_interval(before, after), ratio_interval(after, before)
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert there.low is not None
    assert back.high is not None
    assert there.low == pytest.approx(1 / back.high)


@given(RATES, RATES, st.integers(1, 10))
def test_more_comparisons_never_narrow_an_interval(
    before: list[float], after: list[float], family: int
) -> None:
    alone, among = ratio_interval(before, after), ratio_interval(before, after, family=family)
    assert among.low is not None
    assert alone.low is not None
    assert among.low <= alone.low * (1 + 1e-9)


def test_the_smallest_detectable_loss_is_that_of_the_textbook() -> None:
    """(t at 95 % + t at 80 %) × standard error: CV 2 %, five repeats an arm, 8 degrees of freedom."""
    spread = [0.98, 0.99, 1.0, 1.01, 1.0337]
    scale = 0.02 / (math.sqrt(sum((math.log(v) - sum(map(math.log, spread)) / 5) ** 2 for v in spread) / 4))
    arm = [100 * math.exp(math.log(v) * scale) for v in spread]
    found = ratio_interval(arm, arm, start_cv=0)
    assert found.detectable == pytest.approx(
        1 - math.exp(-(1.8595 + 0.8889) * 0.02 * math.sqrt(2 / 5)), rel=1e-3
    )


def _arm(chance: random.Random, *, repeats: int, cv: float, start: float) -> list[float]:
    return [100 * math.exp(start + chance.gauss(0, cv)) for _ in range(repeats)]


@pytest.mark.parametrize("repeats", [3, 5])
def test_equal_servers_are_called_slower_in_at_most_5_of_100_comparisons(repeats: int) -> None:
    chance, runs, levels = random.Random(repeats), 300, 5
    slower = 0
    for _ in range(runs):
        starts = [chance.gauss(0, START_CV) for _ in range(2)]
        intervals = [
            ratio_interval(
                *(_arm(chance, repeats=repeats, cv=0.02, start=start) for start in starts), family=levels
            )
            for _ in range(levels)
        ]
        slower += any(interval.high is not None and interval.high < 1 for interval in intervals)
    assert slower / runs <= 0.05


def test_a_loss_of_10_percent_is_seen_at_each_of_5_levels_in_95_of_100_runs() -> None:
    chance, runs, seen = random.Random(7), 300, 0
    for _ in range(runs):
        before, after = (_arm(chance, repeats=5, cv=0.02, start=start) for start in (0.0, math.log(0.9)))
        interval = ratio_interval(before, after, family=5)
        seen += interval.high is not None and interval.high < 1
    assert seen / runs >= 0.95
