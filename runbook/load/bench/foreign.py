"""Whether anybody else used the server while the bench ran, by the server's own counters."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.load.bench.exposition import Counters

# Health probes generate a token now and then and may be counted as requests.
_ALLOWED_TOKENS = 0.01
_ALLOWED_REQUESTS = 0.02
_SAMPLES = 3


def foreign_load(
    before: Counters, after: Counters, *, load: Sequence[float], requests: int, tokens: int, in_flight: int
) -> str:
    """What was more than ours, with both numbers; empty where nothing was, or the server does not say.

    `load` samples what ran and waited in the server, `in_flight` is the most we ever had open; `requests` and `tokens`
    are what we sent and were answered, failures included. Gauges lag behind, and a request that ended may still be
    counted beside the one that took its place: only most of the samples together say something.
    """
    if len(load) >= _SAMPLES and (typical := statistics.median_low(load)) > in_flight:
        return f"foreign requests: {typical:.0f} in the server most of the time, {in_flight} of them ours at most"
    generated = _grown(before.generated, after.generated)
    if generated is not None and generated > tokens * (1 + _ALLOWED_TOKENS) + 16:
        return f"foreign requests: the server generated {generated:.0f} tokens, {tokens} of them ours"
    counted = _grown(before.requests, after.requests)
    if generated is None and counted is not None and counted > requests * (1 + _ALLOWED_REQUESTS) + 2:
        return f"foreign requests: the server counted {counted:.0f}, {requests} of them ours"
    return ""


def miscounted(before: Counters, after: Counters, *, tokens: int) -> str:
    """Where the server's token counter is below our usage by more than 2 %: one of the two is wrong."""
    generated = _grown(before.generated, after.generated)
    if generated is None or generated >= tokens * 0.98 - 16:
        return ""
    return f"tokens disagree: the server's counter grew by {generated:.0f}, usage sums to {tokens}"


def _grown(before: float | None, after: float | None) -> float | None:
    """By how much a counter grew; None where it is not offered or was reset by a restart."""
    if before is None or after is None or after < before:
        return None
    return after - before
