from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.load.bench.concurrency import in_flight, tokens_within
from runbook.load.bench.metrics import failures_by_kind, latencies, repeat_figures
from runbook.load.bench.percentiles import percentile, summary_ms
from runbook.load.bench.slo import Slo
from runbook.load.bench.tokens import check_tokens
from tests.load.bench.made import request


def test_the_definitions_on_one_request_by_hand() -> None:
    found = latencies([request()])
    assert found.ttft_ms["p50"] == pytest.approx(100)
    assert found.itl_ms["p50"] == pytest.approx(10)
    assert found.tpot_ms["p50"] == pytest.approx(10)  # (200 − 100) / (11 − 1)
    assert found.e2e_ms["p50"] == pytest.approx(200)


def test_several_tokens_an_event_show_in_tpot_and_not_in_itl() -> None:
    found = latencies([request(completion_tokens=41)])
    assert found.itl_ms["p50"] == pytest.approx(10)
    assert found.tpot_ms["p50"] == pytest.approx(2.5)


def test_pooled_gaps_and_the_mean_of_each_request_differ() -> None:
    """A long even request and a short one with a pause: pooling weighs gaps, the other weighs requests."""
    paused = request(arrivals=(0.1, 0.11, 1.11))
    found = latencies([request(), paused])
    assert found.itl_ms["mean"] == pytest.approx((10 * 10 + 10 + 1000) / 12, abs=1e-3)
    assert found.itl_request_ms["mean"] == pytest.approx((10 + 505) / 2, abs=1e-3)


def test_latency_counts_from_the_intended_send_time() -> None:
    assert latencies([request(intended=-3.0)]).ttft_ms["p50"] == pytest.approx(3100)


def test_a_single_token_has_no_tpot_and_no_gap() -> None:
    found = latencies([request(arrivals=(0.1,), completion_tokens=1)])
    assert (found.tpot_ms, found.itl_ms) == ({}, {})


def test_rates_are_over_first_send_to_last_end() -> None:
    found = repeat_figures([request(), request(sent=1.0, ended=2.0)])
    assert found.output_tok_s == pytest.approx(22 / 2)
    assert found.total_tok_s == pytest.approx(722 / 2)
    assert found.requests_s == pytest.approx(1)


def test_failures_are_counted_and_carry_no_tokens() -> None:
    records = [
        request(),
        request(failure="cut"),
        request(failure="http 503", arrivals=()),
        request(failure="cut"),
    ]
    assert failures_by_kind(records) == {"cut": 2, "http 503": 1}
    assert repeat_figures(records).output_tok_s == pytest.approx(11 / 0.2)
    assert latencies(records) == latencies([request()])


def test_no_answer_at_all_has_rates_of_0_and_no_percentiles() -> None:
    refused = request(failure="refused", arrivals=(), completion_tokens=None, first_byte=None)
    assert repeat_figures([refused]).output_tok_s == 0
    assert latencies([refused]).ttft_ms == {}


@pytest.mark.parametrize(
    ("limits", "good"),
    [
        ({"ttft": 101}, 5.0),
        ({"ttft": 99}, 0.0),
        ({"ttft": 101, "tpot": 9.9}, 0.0),
        ({"e2e": 201, "tpot": 10.1}, 5.0),
    ],
)
def test_goodput_counts_requests_that_meet_every_limit(limits: dict[str, float], good: float) -> None:
    assert repeat_figures([request()], Slo(**limits)).goodput == pytest.approx(good)


def test_concurrency_is_weighted_by_time_and_steady_where_the_peak_is() -> None:
    found = in_flight([request(sent=0, ended=10), request(sent=2, ended=8), request(sent=8, ended=9)])
    assert found.mean == pytest.approx(17 / 10)
    assert (found.peak, found.steady) == (2, (2, 9))


def test_an_end_and_a_send_at_one_moment_are_not_two_in_flight() -> None:
    assert in_flight([request(sent=0, ended=1), request(sent=1, ended=2)]).peak == 1


def test_tokens_of_a_window_follow_the_events_within_it() -> None:
    fat = request(arrivals=(1.0, 2.0, 3.0, 4.0), completion_tokens=40)
    assert tokens_within([fat], 1.5, 3.0) == 20


TIMES = st.floats(0, 100)


@given(st.lists(st.tuples(TIMES, st.floats(0.01, 50)), min_size=1, max_size=30))
def test_in_flight_is_at_most_all_and_at_least_the_mean(spans: list[tuple[float, float]]) -> None:
    found = in_flight([request(sent=sent, ended=sent + took) for sent, took in spans])
    assert found.mean <= found.peak + 1e-6
    assert found.peak <= len(spans)


@pytest.mark.parametrize(("percent", "value"), [(50, 2.5), (90, 3.7), (99, 3.97), (0, 1.0), (100, 4.0)])
def test_percentiles_interpolate_like_numpy(percent: float, value: float) -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], percent) == pytest.approx(value)


def test_nothing_has_no_percentile() -> None:
    assert summary_ms([]) == {}
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        ({}, (0, 0, 0)),
        ({"completion_tokens": None}, (1, 0, 0)),
        ({"completion_tokens": 5}, (0, 1, 1)),
        ({"completion_tokens": 40}, (0, 0, 1)),
    ],
)
def test_tokens_are_checked_against_events_and_length(
    fields: dict[str, Any], seen: tuple[int, int, int]
) -> None:
    found = check_tokens([request(**fields)], 11, 11)
    assert (found.without_usage, found.few_tokens, found.off_length) == seen


def test_cached_tokens_are_unknown_where_the_server_is_silent() -> None:
    assert check_tokens([request()], 11, 11).cached is None
    assert check_tokens([request(cached_tokens=3), request(cached_tokens=4)], 11, 11).cached == 7


@pytest.mark.parametrize(
    ("text", "limits"),
    [("ttft=200", {"ttft": 200.0}), ("ttft=200,tpot=20,e2e=1e4", {"ttft": 200.0, "tpot": 20.0, "e2e": 1e4})],
)
def test_limits_are_read_from_text(text: str, limits: dict[str, float]) -> None:
    assert Slo.parse(text).to_json() == limits


@pytest.mark.parametrize("text", ["itl=3", "ttft=soon", "ttft"])
def test_a_wrong_limit_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="--slo"):
        Slo.parse(text)


def test_the_steady_window_of_an_open_loop_is_from_the_first_end_to_the_last_send() -> None:
    sent = [0.0, 1.0, 2.0, 3.0]
    records = [
        request(sent=at, intended=at, ended=at + 0.5, arrivals=(at + 0.2, at + 0.4), completion_tokens=2)
        for at in sent
    ]
    found = repeat_figures(records, open_loop=True)
    assert found.steady_s == (0.5, 3.0)
    assert found.steady_tok_s == pytest.approx(4 / 2.5)


def test_an_open_loop_too_short_for_one_is_steady_as_a_whole() -> None:
    records = [request(sent=0.0, ended=1.0), request(sent=0.5, ended=1.5)]
    assert repeat_figures(records, open_loop=True).steady_s == (0.0, 1.5)


def test_usage_beyond_what_was_asked_for_is_told() -> None:
    assert check_tokens([request(), request(completion_tokens=13)], 11, 11).many_tokens == 1
    assert check_tokens([request(completion_tokens=13)], 11, 20).many_tokens == 0
