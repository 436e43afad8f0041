from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.load.bench.student import t_cdf, t_quantile


@pytest.mark.parametrize(
    ("p", "df", "t"),
    [  # printed tables of Student's t
        (0.975, 1, 12.7062),
        (0.975, 2, 4.3027),
        (0.975, 4, 2.7764),
        (0.995, 4, 4.6041),
        (0.995, 8, 3.3554),
        (0.95, 30, 1.6973),
        (0.975, math.inf, 1.95996),
        (0.8, 4, 0.9410),
    ],
)
def test_quantiles_are_those_of_the_tables(p: float, df: float, t: float) -> None:
    assert t_quantile(p, df) == pytest.approx(t, abs=6e-5)


@given(st.floats(0.001, 0.999), st.floats(0.5, 200))
def test_the_quantile_undoes_the_distribution(p: float, df: float) -> None:
    assert t_cdf(t_quantile(p, df), df) == pytest.approx(p, abs=1e-8)


@pytest.mark.parametrize(("p", "df"), [(0, 5), (1, 5), (0.5, 0)])
def test_outside_there_is_no_quantile(p: float, df: float) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(p, df)
