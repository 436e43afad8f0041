from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.load.statistics import at_most, fisher_greater, rising_trend, upper_bound


@pytest.mark.parametrize(("trials", "percent"), [(60, 4.87), (80, 3.68), (140, 2.12), (299, 1.00)])
def test_none_of_n_bounds_the_rate_as_the_tables_say(trials: int, percent: float) -> None:
    assert round(100 * upper_bound(0, trials), 2) == percent


@given(st.integers(1, 300), st.data())
def test_the_bound_is_the_rate_at_which_so_few_events_are_as_rare_as_allowed(
    trials: int, data: st.DataObject
) -> None:
    events = data.draw(st.integers(0, trials - 1))
    bound = upper_bound(events, trials)
    assert events / trials < bound <= 1.0
    assert math.isclose(at_most(events, trials, bound), 0.05, rel_tol=1e-6)


def test_no_data_bounds_nothing() -> None:
    assert upper_bound(0, 0) == 1.0
    assert upper_bound(5, 5) == 1.0


def test_a_one_percent_rate_is_missed_by_eighty_sessions_nearly_every_other_time() -> None:
    assert at_most(0, 80, 0.01) == pytest.approx(0.4475, abs=1e-4)


def test_fishers_test_of_the_projects_origin() -> None:
    assert fisher_greater(9, 60, 0, 80) == pytest.approx(3.376e-4, rel=1e-3)


def test_fishers_test_of_the_lady_tasting_tea() -> None:
    assert fisher_greater(4, 4, 0, 4) == pytest.approx(1 / 70)
    assert fisher_greater(3, 4, 1, 4) == pytest.approx(17 / 70)


@given(st.integers(0, 40), st.integers(1, 40), st.integers(0, 40), st.integers(1, 40))
def test_fishers_chance_is_a_chance(events: int, trials: int, other: int, others: int) -> None:
    chance = fisher_greater(min(events, trials), trials, min(other, others), others)
    assert 0.0 < chance <= 1.0


def test_an_empty_arm_says_nothing() -> None:
    assert fisher_greater(0, 0, 3, 10) == 1.0
    assert fisher_greater(3, 10, 0, 0) == 1.0


def test_events_late_in_a_run_are_a_trend_and_early_ones_are_none() -> None:
    assert rising_trend([0, 0, 0, 6], [80] * 4) < 0.001
    assert rising_trend([6, 0, 0, 0], [80] * 4) > 0.99
    assert rising_trend([2, 2, 2, 2], [80] * 4) > 0.4


@pytest.mark.parametrize("events", [[], [3], [0, 0, 0]])
def test_nothing_to_test_is_no_trend(events: list[int]) -> None:
    assert rising_trend(events, [80] * len(events)) == 1.0


def test_the_approximation_for_many_events_agrees_with_the_exact_test() -> None:
    from runbook.load.statistics import _normal_trend

    exact = rising_trend([2, 3, 4, 6], [80] * 4)
    assert _normal_trend(0 * 2 + 1 * 3 + 2 * 4 + 3 * 6, 15, [80] * 4) == pytest.approx(exact, abs=0.01)
    assert rising_trend([10] * 20, [80] * 20) == pytest.approx(0.5, abs=0.01)
