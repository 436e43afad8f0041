"""What the server's own /metrics say while the load runs, where it offers them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from runbook.load.bench.server import counters

if TYPE_CHECKING:
    import httpx

    from runbook.load.bench.exposition import Counters

EVERY_S = 1.0


class ServerMetrics:
    """Samples of running and queued requests: their peaks, and what was served in between.

    SGLang's and vLLM's names are known. Everything is None for a server without them.
    """

    def __init__(self) -> None:
        self._first: Counters | None = None
        self._last: Counters | None = None
        self.peak_running: float | None = None
        self.peak_queued: float | None = None

    def add(self, sample: Counters) -> None:
        self._first = self._first or sample
        self._last = sample
        self.peak_running = _most(self.peak_running, sample.running)
        self.peak_queued = _most(self.peak_queued, sample.queued)

    def to_json(self) -> dict[str, Any]:
        """Peaks, and growth of requests and generated tokens over the run."""
        return {
            "peak_running": self.peak_running,
            "peak_queued": self.peak_queued,
            "requests": self._grown("requests"),
            "generated_tokens": self._grown("generated"),
        }

    def _grown(self, name: str) -> float | None:
        before, after = getattr(self._first, name, None), getattr(self._last, name, None)
        return None if before is None or after is None else after - before


async def sample(client: httpx.AsyncClient, url: str, into: ServerMetrics) -> None:
    """Sample until cancelled; a server that offers none of the figures is asked once."""
    while True:
        found = await counters(client, url)
        if found.running is None and found.requests is None:
            return
        into.add(found)
        await asyncio.sleep(EVERY_S)


def _most(known: float | None, new: float | None) -> float | None:
    return known if new is None else max(known or 0.0, new)
