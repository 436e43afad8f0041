from __future__ import annotations

import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.load.bench.plan import interleaved, plan_by_budget, plan_by_duration, plan_by_number

WAVES = st.dictionaries(st.integers(1, 200), st.floats(0.01, 30), min_size=1, max_size=6)


@given(WAVES, st.integers(1, 8), st.floats(1, 600))
def test_every_level_gets_every_repeat_in_whole_waves(
    wave_s: dict[int, float], repeats: int, budget_s: float
) -> None:
    plan = plan_by_budget(wave_s, repeats=repeats, budget_s=budget_s)
    counted = collections.Counter(slot.concurrency for slot in plan.slots)
    assert counted == dict.fromkeys(wave_s, repeats)
    assert all(slot.requests % slot.concurrency == 0 and slot.requests for slot in plan.slots)


@given(WAVES, st.integers(1, 8), st.floats(1, 600))
def test_a_plan_keeps_its_budget_unless_single_waves_exceed_it(
    wave_s: dict[int, float], repeats: int, budget_s: float
) -> None:
    plan = plan_by_budget(wave_s, repeats=repeats, budget_s=budget_s)
    share_s = budget_s / len(wave_s) / repeats
    assert plan.fits or any(seconds > share_s for seconds in wave_s.values())


def test_repeats_go_up_and_down_so_that_drift_loads_no_level() -> None:
    assert interleaved((1, 8), 3) == [(1, 0), (8, 0), (8, 1), (1, 1), (1, 2), (8, 2)]


def test_the_plan_says_what_it_will_do_and_how_long_it_takes() -> None:
    plan = plan_by_budget({1: 2.0, 8: 3.0}, repeats=5, budget_s=60)
    assert plan.lines() == [
        "5 repeats, interleaved; a repeat is concurrency 1: 3 requests, concurrency 8: 16 requests; "
        "about 60 s (60 s of the budget left)"
    ]


def test_a_budget_that_is_too_short_is_said() -> None:
    lines = plan_by_budget({80: 20.0}, repeats=5, budget_s=30).lines()
    assert "about 100 s (30 s of the budget left)" in lines[0]
    assert "too short" in lines[1]


@pytest.mark.parametrize(
    ("level", "rate", "seconds"), [(4, None, 6.0), (0, 2.0, 7.0), (4, 100.0, 6.0), (0, None, 2.0)]
)
def test_a_number_of_requests_takes_its_waves_or_its_arrivals(
    level: int, rate: float | None, seconds: float
) -> None:
    plan = plan_by_number({level: 2.0}, repeats=1, requests=10, request_rate=rate)
    assert plan.expected_s == seconds


def test_without_a_number_two_waves_are_sent() -> None:
    plan = plan_by_number({8: 1.0}, repeats=1, requests=None)
    assert plan.slots[0].requests == 16


def test_a_duration_ends_with_what_is_in_flight() -> None:
    assert plan_by_duration({8: 1.5}, repeats=2, duration_s=10).expected_s == 23
