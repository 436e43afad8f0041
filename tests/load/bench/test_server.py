"""What the server says of itself, and what follows from it."""

from __future__ import annotations

import pytest

from runbook.load.bench.exposition import Counters, read_counters
from runbook.load.bench.foreign import foreign_load, miscounted
from runbook.load.bench.server import facts_of

SGLANG = """# HELP sglang:num_running_reqs The number of running requests.
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{model_name="m",tp_rank="0"} 3.0
sglang:num_queue_reqs{model_name="m"} 2.0
sglang:generation_tokens_total{model_name="m"} 1.5e+03
sglang:num_requests_total{model_name="m"} 12.0 1700000000000
sglang:time_to_first_token_seconds_bucket{le="0.1"} 9
"""
VLLM = """vllm:num_requests_running{engine="0"} 1.0
vllm:num_requests_waiting{engine="0"} 0.0
vllm:request_success_total{finished_reason="stop"} 5.0
vllm:request_success_total{finished_reason="length"} 7.0
vllm:generation_tokens_total{engine="0"} 99
"""


@pytest.mark.parametrize(
    ("text", "counters"),
    [
        (SGLANG, Counters(12, 1500, 3, 2)),
        (VLLM, Counters(12, 99, 1, 0)),
        ("", Counters()),
        ("<html>not found</html>\nsglang:num_running_reqs NaN\nsglang:num_queue_reqs soon\n", Counters()),
    ],
)
def test_counters_are_read_by_the_names_of_both_engines(text: str, counters: Counters) -> None:
    assert read_counters(text) == counters


def test_load_is_what_runs_and_what_waits() -> None:
    assert (read_counters(SGLANG).load, Counters().load) == (5, None)


BEFORE = Counters(requests=100, generated=1000)


@pytest.mark.parametrize(
    ("after", "load", "foreign"),
    [
        (Counters(requests=110, generated=2000), [8, 8, 8], ""),
        (Counters(requests=110, generated=2020), [], ""),  # health probes make a token each
        (Counters(requests=110, generated=2500), [], "generated 1500 tokens, 1000 of them ours"),
        (
            Counters(requests=110, generated=2000),
            [0, 9, 9],
            "9 in the server most of the time, 8 of them ours at most",
        ),
        (
            Counters(requests=110, generated=2000),
            [8, 16, 0, 16, 8],
            "",
        ),  # ended ones beside those that took their place
        (Counters(requests=110, generated=2000), [16, 16], ""),
        (Counters(requests=130), [], "counted 30, 10 of them ours"),
        (Counters(requests=112), [], ""),
        (Counters(requests=3, generated=7), [], ""),  # restarted: counters start again
        (Counters(), [], ""),
    ],
)
def test_foreign_requests_show_in_gauges_and_counters(
    after: Counters, load: list[float], foreign: str
) -> None:
    found = foreign_load(BEFORE, after, load=load, requests=10, tokens=1000, in_flight=8)
    assert found.endswith(foreign)
    assert bool(found) == bool(foreign)


@pytest.mark.parametrize(("generated", "wrong"), [(2000, False), (1970, False), (1500, True), (2500, False)])
def test_usage_above_the_servers_own_counter_is_named(generated: float, wrong: bool) -> None:
    assert bool(miscounted(BEFORE, Counters(generated=generated), tokens=1000)) == wrong


def test_facts_are_those_that_do_not_change_from_start_to_start() -> None:
    document = {
        "version": "0.5.23",
        "tp_size": 8,
        "port": 30002,
        "random_seed": 42,
        "max_total_num_tokens": 123_456,
        "served_model_name": ["a", "b"],
        "gpu_name": "B200",
    }
    assert facts_of(document) == {
        "version": "0.5.23",
        "arguments": {"served_model_name": '["a", "b"]', "tp_size": 8},
        "gpu": {"gpu_name": "B200"},
    }


def test_arguments_may_be_nested() -> None:
    assert facts_of({"server_args": {"tp_size": 4}, "version": 1})["arguments"] == {"tp_size": 4}
