"""Whether this client, not the server, set the pace: its CPU share and how late its event loop runs.

A client is called client-bound when it used more than 80 % of its core, or when the 99th percentile of the loop's lag
is above 10 % of the median gap between events: then its stamps are its own and not the server's.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.load.bench.percentiles import percentile
from runbook.load.gauge import Reservoir

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator, Sequence

_EVERY_S = 0.02


@dataclass(frozen=True, slots=True)
class ClientHealth:
    """`cpu_share` of one core, `lag_p99_ms` of the event loop and its samples; 0 where none was taken."""

    cpu_share: float
    lag_p99_ms: float
    lags_ms: tuple[float, ...] = ()

    def bound(self, itl_p50_ms: float | None, *, max_cpu: float = 0.8, max_lag: float = 0.1) -> str:
        """Why the client is the bottleneck, with both numbers; empty where it is not."""
        if self.cpu_share > max_cpu:
            return f"client-bound: {self.cpu_share:.0%} of its core, at most {max_cpu:.0%} is allowed"
        if itl_p50_ms and self.lag_p99_ms > max_lag * itl_p50_ms:
            return (
                f"client-bound: event loop {self.lag_p99_ms:.1f} ms late (p99), "
                f"at most {max_lag:.0%} of the median gap of {itl_p50_ms:.1f} ms is allowed"
            )
        return ""


def worst_of(found: Sequence[ClientHealth]) -> ClientHealth:
    """The health of several processes: each has a core and a loop of its own, and the worst one counts."""
    latest = max(found, key=lambda one: one.lag_p99_ms)
    return ClientHealth(max(one.cpu_share for one in found), latest.lag_p99_ms, latest.lags_ms)


def pooled(found: Sequence[ClientHealth]) -> ClientHealth:
    """The health over several repeats: the busiest one's share, and the lag over all samples."""
    lags = [lag for one in found for lag in one.lags_ms]
    return _health(max((one.cpu_share for one in found), default=0.0), lags)


def _health(cpu_share: float, lags_ms: Sequence[float]) -> ClientHealth:
    lag = percentile(sorted(lags_ms), 99) if lags_ms else 0.0
    return ClientHealth(cpu_share, lag, tuple(lags_ms))


class HealthWatch:
    """Samples while its block runs; `health()` afterwards.

    A thread wakes the loop through its self-pipe, the way a socket does, and the loop stamps when it got there.
    A timer would not do: asyncio rounds those up to a whole millisecond.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lags = Reservoir()
        self._stop = threading.Event()
        self._cpu = self._wall = 0.0

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        thread = threading.Thread(target=self._sample, daemon=True, name="loop-lag")
        cpu, wall = time.process_time(), time.perf_counter()
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._cpu, self._wall = time.process_time() - cpu, time.perf_counter() - wall
            thread.join()

    def health(self) -> ClientHealth:
        return _health(self._cpu / max(self._wall, 1e-9), [lag * 1e3 for lag in self._lags.sample])

    def _sample(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self._loop.call_soon_threadsafe(self._arrived, time.perf_counter())

    def _arrived(self, sent: float) -> None:
        self._lags.add(time.perf_counter() - sent)
