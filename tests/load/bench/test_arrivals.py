from __future__ import annotations

import itertools
import math

import pytest

from runbook.load.bench.arrivals import poisson, scheduled


def test_gaps_are_exponential() -> None:
    times = list(itertools.islice(poisson(20.0, "seed"), 20_001))
    gaps = [b - a for a, b in itertools.pairwise(times)]
    mean = sum(gaps) / len(gaps)
    assert mean == pytest.approx(1 / 20, rel=0.03)
    assert math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) == pytest.approx(mean, rel=0.05)


def test_a_seed_gives_the_same_arrivals_again() -> None:
    assert scheduled(5, "a", requests=9, duration_s=None) == scheduled(5, "a", requests=9, duration_s=None)
    assert scheduled(5, "a", requests=9, duration_s=None) != scheduled(5, "b", requests=9, duration_s=None)


def test_a_duration_bounds_the_arrivals() -> None:
    times = scheduled(50, "a", requests=0, duration_s=4)
    assert max(times) < 4
    assert len(times) == pytest.approx(200, rel=0.25)
