"""How much load there really was: requests in flight, streams running at once, gaps between reads."""

from __future__ import annotations

import contextlib
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.load.bench.request import RawStream

_SAMPLES = 4096
_GAPS_A_STREAM = 32


class Reservoir:
    """A uniform sample of a stream of numbers in constant memory (Vitter's algorithm R)."""

    def __init__(self, size: int = _SAMPLES) -> None:
        self._size = size
        self._seen = 0
        self._kept: list[float] = []
        self._random = random.Random(0)

    def add(self, value: float) -> None:
        self._seen += 1
        if len(self._kept) < self._size:
            self._kept.append(value)
        elif (place := int(self._random.random() * self._seen)) < self._size:
            self._kept[place] = value

    def take(self, other: Reservoir) -> None:
        """The other sample too; of a like size both weigh alike."""
        self._seen += other._seen
        self._kept = [*self._kept, *other._kept]

    @property
    def sample(self) -> Sequence[float]:
        """What is kept: every number as long as they are no more than the size, then some of them."""
        return self._kept

    def quantile(self, share: float) -> float | None:
        """The value below which that share of the sample lies; None of nothing."""
        if not self._kept:
            return None
        ordered = sorted(self._kept)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Gauge:
    """Watches requests. A stream runs from its first event: before that a server may only queue it."""

    def __init__(self) -> None:
        self.requests = 0
        self.peak_in_flight = 0
        self._live: dict[int, RawStream] = {}
        self._reads = 0
        self._spans: list[tuple[float, float]] = []
        self._gaps = Reservoir()
        self._first_bytes = Reservoir()

    @contextlib.contextmanager
    def watching(self, raw: RawStream) -> Iterator[None]:
        """One request, from before it is sent to its end."""
        self.requests += 1
        self._live[id(raw)] = raw
        self.peak_in_flight = max(self.peak_in_flight, len(self._live))
        try:
            yield
        finally:
            del self._live[id(raw)]
            self._ended(raw)

    @property
    def in_flight(self) -> int:
        return len(self._live)

    @property
    def reads(self) -> int:
        """Reads of all streams so far; a read mostly is a chunk."""
        return self._reads + sum(len(raw.reads) for raw in list(self._live.values()))

    @property
    def finished_reads(self) -> int:
        """Reads of the streams that ended."""
        return self._reads

    def gap_median_s(self) -> float | None:
        """Median seconds between two reads of one stream."""
        return self._gaps.quantile(0.5)

    def first_byte_s(self, share: float) -> float | None:
        """Seconds from a request to its first byte, for that share of the requests at most."""
        found = self._first_bytes.quantile(share)
        return None if found is None else round(found, 4)

    def peak(self) -> int:
        """Most streams that ran at once."""
        live = [span for raw in self._live.values() for span in _span(raw)]
        return peak_overlap([*self._spans, *live])

    def _ended(self, raw: RawStream) -> None:
        if not raw.reads:
            return
        stamps = [stamp for stamp, _ in raw.reads]
        self._reads += len(stamps)
        self._first_bytes.add(stamps[0] - raw.sent)
        self._spans += _span(raw)
        step = max(1, len(stamps) // _GAPS_A_STREAM)
        for at in range(1, len(stamps), step):
            self._gaps.add(stamps[at] - stamps[at - 1])


def _span(raw: RawStream) -> list[tuple[float, float]]:
    """From the first event to the last read. Many servers send the head, or comments, while a request still waits."""
    seen = b""
    for stamp, data in raw.reads:
        seen = seen[-4:] + data
        if b"data:" in seen:
            return [(stamp, raw.reads[-1][0])]
    return []


def merged(gauges: Sequence[Gauge]) -> Gauge:
    """What several processes saw as one: their streams overlap in time, their clock is the machine's."""
    whole = Gauge()
    for gauge in gauges:
        whole.requests += gauge.requests
        whole.peak_in_flight += gauge.peak_in_flight
        whole._reads += gauge._reads
        whole._spans += gauge._spans
        whole._gaps.take(gauge._gaps)
        whole._first_bytes.take(gauge._first_bytes)
    return whole


def peak_overlap(spans: Sequence[tuple[float, float]]) -> int:
    """Most spans that hold at one moment; a span that ends where another begins overlaps it."""
    edges = sorted([(begin, 0) for begin, _ in spans] + [(end, 1) for _, end in spans])
    running = peak = 0
    for _, ends in edges:
        running += -1 if ends else 1
        peak = max(peak, running)
    return peak
