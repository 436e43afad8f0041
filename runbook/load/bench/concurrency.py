"""How many requests were in flight, and in which window all slots were taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runbook.load.bench.request import RequestRecord


@dataclass(frozen=True, slots=True)
class InFlight:
    """`mean` is weighted by time over first send to last end; `steady` is (from, to) in the records' seconds.

    Steady is from the first moment to the last at which the peak was in flight: ramp-up and drain lie outside.
    """

    mean: float
    peak: int
    steady: tuple[float, float]


def in_flight(records: Sequence[RequestRecord]) -> InFlight:
    """From the requests' sends and ends. Raises ValueError for none."""
    if not records:
        raise ValueError("no requests, nothing in flight")
    started, ended = min(r.sent for r in records), max(r.ended for r in records)
    steps = _steps(records)
    peak = max(count for _, _, count in steps)
    full = [(begin, end) for begin, end, count in steps if count == peak]
    busy = sum(r.ended - r.sent for r in records)
    return InFlight(busy / max(ended - started, 1e-9), peak, (full[0][0], full[-1][1]))


def flowing(records: Sequence[RequestRecord]) -> tuple[float, float]:
    """The steady window of an open loop, where the peak is a moment: from the first end to the last send.

    Before it nothing has left yet, after it nothing comes any more. Where a run is too short for one it is the whole run.
    """
    begin, end = min(r.ended for r in records), max(r.sent for r in records)
    return (begin, end) if begin < end else (min(r.sent for r in records), max(r.ended for r in records))


def tokens_within(records: Iterable[RequestRecord], begin: float, end: float) -> float:
    """Output tokens that arrived in a window: a request's tokens are spread evenly over its content events."""
    return sum(
        r.output_tokens * sum(begin < stamp <= end for stamp in r.arrivals) / len(r.arrivals)
        for r in records
        if r.ok and r.arrivals
    )


def _steps(records: Iterable[RequestRecord]) -> list[tuple[float, float, int]]:
    """(from, to, in flight) pieces. At one and the same moment an end counts before a send."""
    edges = sorted([(r.sent, 1) for r in records] + [(r.ended, -1) for r in records])
    steps, count = [], 0
    for (at, change), (until, _) in zip(edges, [*edges[1:], edges[-1]], strict=True):
        count += change
        steps.append((at, until, count))
    return steps
