from __future__ import annotations

import pytest

from runbook.load.bench.clienthealth import ClientHealth
from runbook.load.bench.judge import failure_problem, findings, token_problems
from runbook.load.bench.tokens import check_tokens
from runbook.load.bench.warmup import wave, wave_requests
from runbook.load.outcome import Outcome
from tests.load.bench.made import level, request


@pytest.mark.parametrize(
    ("health", "gap_ms", "why"),
    [
        (ClientHealth(0.5, 0.5), 10.0, ""),
        (ClientHealth(0.81, 0.5), 10.0, "client-bound: 81% of its core, at most 80% is allowed"),
        (
            ClientHealth(0.5, 1.5),
            10.0,
            "event loop 1.5 ms late (p99), at most 10% of the median gap of 10.0 ms",
        ),
        (ClientHealth(0.5, 50.0), None, ""),
    ],
)
def test_a_client_at_its_own_limit_says_so(health: ClientHealth, gap_ms: float | None, why: str) -> None:
    found = health.bound(gap_ms)
    assert why in found
    assert bool(why) == bool(found)


@pytest.mark.parametrize(("failed", "too_many"), [(0, False), (1, False), (2, True)])
def test_one_failure_in_a_hundred_is_let_pass(failed: int, too_many: bool) -> None:
    assert bool(failure_problem({"http 503": failed}, 100)) == too_many


def test_failures_are_named_by_kind() -> None:
    assert "5 of 10 requests failed (cut × 3, http 503 × 2)" in failure_problem({"cut": 3, "http 503": 2}, 10)


def test_a_warm_cache_makes_a_level_prove_nothing() -> None:
    warm, cold = request(cached_tokens=300), request(cached_tokens=4)
    assert "300 of 350 prompt tokens were cached" in token_problems(check_tokens([warm], 11, 11), 1)[0]
    assert token_problems(check_tokens([cold], 11, 11), 1) == []


def test_missing_usage_makes_a_level_prove_nothing() -> None:
    assert (
        "an event is not a token"
        in token_problems(check_tokens([request(completion_tokens=None)], 11, 11), 1)[0]
    )


def test_failures_outrank_problems_and_no_level_proves_nothing() -> None:
    broken = level(8, 1.0, failures={"cut": 5}, problems=("client-bound",))
    bound, good = level(8, 1.0, problems=("client-bound",)), level(8, 1.0)
    outcomes = [finding.outcome for finding in findings([broken, bound, good])]
    assert outcomes == [Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS]
    assert findings([])[0].outcome == Outcome.INCONCLUSIVE


def test_a_short_wave_tells_how_long_a_full_one_takes() -> None:
    """0.1 s to the first token and 10 ms a token: 256 tokens take 0.1 + 255 × 0.01 s."""
    found = wave([request(), request(failure="cut")], 256)
    assert (round(found.seconds, 6), found.prompt_tokens) == (2.65, 350)


def test_a_wave_without_an_answer_still_has_a_duration() -> None:
    assert wave([request(failure="timeout", ended=5.0)], 256).seconds == 5.0


@pytest.mark.parametrize(("concurrency", "requests"), [(1, 1), (80, 80), (0, 8)])
def test_a_wave_fills_every_slot(concurrency: int, requests: int) -> None:
    assert wave_requests(concurrency) == requests
