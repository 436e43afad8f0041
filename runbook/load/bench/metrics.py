"""Records of requests → the figures of a repeat and of a level, by the definitions of the field.

TTFT: to the first event that carries content, reasoning or a tool delta. ITL: gaps between such events, pooled over
all requests, and beside it each request's own mean. TPOT: (latency − TTFT) / (output tokens − 1). e2e: to the last such
event. All count from the intended send time, so waiting for a free slot of the client is not left out. Output tokens
come from the server's usage; rates are over first send to last end. Only answered requests enter latencies and tokens;
the others are counted by kind.
"""

from __future__ import annotations

import collections
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runbook.load.bench.concurrency import flowing, in_flight, tokens_within
from runbook.load.bench.percentiles import summary_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runbook.load.bench.request import RequestRecord
    from runbook.load.bench.slo import Slo


@dataclass(frozen=True, slots=True)
class RepeatFigures:
    """One repeat of one level. Rates per second; `steady_*` over the window in which the peak was in flight, of an
    open loop from the first end to the last send.
    """

    output_tok_s: float
    total_tok_s: float
    requests_s: float
    goodput: float | None
    mean_concurrency: float
    peak_concurrency: int
    steady_s: tuple[float, float]
    steady_tok_s: float


@dataclass(frozen=True, slots=True)
class Latencies:
    """Percentiles in milliseconds over all answered requests of a level; empty where there were none."""

    ttft_ms: Mapping[str, float] = field(default_factory=dict)
    itl_ms: Mapping[str, float] = field(default_factory=dict)
    itl_request_ms: Mapping[str, float] = field(default_factory=dict)
    tpot_ms: Mapping[str, float] = field(default_factory=dict)
    e2e_ms: Mapping[str, float] = field(default_factory=dict)


def repeat_figures(
    records: Sequence[RequestRecord], slo: Slo | None = None, *, open_loop: bool = False
) -> RepeatFigures:
    """The figures of one repeat. Raises ValueError where no request was sent."""
    flight = in_flight(records)
    started = min(r.sent for r in records)
    span = max(max(r.ended for r in records) - started, 1e-9)
    answered = [r for r in records if r.ok]
    output = sum(r.output_tokens for r in answered)
    prompt = sum(r.prompt_tokens or 0 for r in answered)
    begin, end = flowing(records) if open_loop else flight.steady
    return RepeatFigures(
        output_tok_s=output / span,
        total_tok_s=(output + prompt) / span,
        requests_s=len(answered) / span,
        goodput=None if slo is None else sum(slo.met(r) for r in answered) / span,
        mean_concurrency=flight.mean,
        peak_concurrency=flight.peak,
        steady_s=(begin - started, end - started),
        steady_tok_s=tokens_within(answered, begin, end) / max(end - begin, 1e-9),
    )


def latencies(records: Iterable[RequestRecord]) -> Latencies:
    """Percentiles over the answered requests."""
    answered = [r for r in records if r.ok]
    gaps = [r.gaps for r in answered]
    return Latencies(
        ttft_ms=summary_ms(r.ttft for r in answered),
        itl_ms=summary_ms(gap for own in gaps for gap in own),
        itl_request_ms=summary_ms(sum(own) / len(own) for own in gaps if own),
        tpot_ms=summary_ms(tpot for r in answered if (tpot := r.tpot) is not None),
        e2e_ms=summary_ms(r.e2e for r in answered),
    )


def failures_by_kind(records: Iterable[RequestRecord]) -> dict[str, int]:
    """Failure kind → how many, the most frequent first."""
    return dict(collections.Counter(r.failure for r in records if not r.ok).most_common())
