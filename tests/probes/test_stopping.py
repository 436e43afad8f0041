from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.lab.systemd.words import format_span
from runbook.probes import unit

GOING = {"LoadState": "loaded", "ActiveState": "deactivating", "SubState": "stop-sigterm", "MainPID": "7"}


@pytest.mark.parametrize(
    ("timeout", "text"),
    [
        ("1min 30s", "stopping 41 s of 90 s (stop-sigterm)"),
        ("infinity", "stopping 41 s (stop-sigterm)"),
        ("", "stopping 41 s (stop-sigterm)"),
        ("soon 3s", "stopping 41 s (stop-sigterm)"),
    ],
)
def test_a_slow_stop_says_how_long_it_may_take(timeout: str, text: str) -> None:
    sample = unit.stopping(GOING | {"TimeoutStopUSec": timeout}, 41.2)
    assert sample is not None
    assert (sample.text, sample.holds, sample.final) == (text, False, False)


@pytest.mark.parametrize("state", ["active", "activating", "inactive", "failed", "reloading", ""])
def test_a_unit_in_another_state_is_not_stopping(state: str) -> None:
    assert unit.stopping(GOING | {"ActiveState": state}, 1.0) is None


@given(st.integers(1, 10**13))
def test_every_span_systemd_prints_is_read_back(microseconds: int) -> None:
    assert unit.span_s(format_span(microseconds / 1e6)) == pytest.approx(microseconds / 1e6)
