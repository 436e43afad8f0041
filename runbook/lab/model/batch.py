"""Continuous batching: every step emits one token for each running sequence, and steps keep to a timetable."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.lab.model.counters import Counters
    from runbook.lab.model.sequence import Sequence

MAX_RUNNING = 128
EVENT_GAP_S = 0.02
"""Tokens of a sequence share an event for so long: 6 at 300 tokens/s, as with SGLang's --stream-interval or MTP."""
OVERLAP_OFF_COST = 1.04
"""A step without the second stream, relative to one with it: the price of the fix."""

UNCAPTURED_COST = 1.5
"""A step launched kernel by kernel instead of as a captured graph."""

_BATCH_DOUBLES_STEP = 160
_MAX_BEHIND_S = 0.25


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a decode step takes: `tokens_s` is the rate of a sequence that runs alone.

    A step grows mildly with the batch (twice as long at 160), by 4 % without multi-stream overlap, and by `slow`.
    """

    tokens_s: float
    overlap: bool = True
    slow: float = 1.0

    def step_s(self, batch: int) -> float:
        growth = 1.0 + batch / _BATCH_DOUBLES_STEP
        return growth * self.slow * (1.0 if self.overlap else OVERLAP_OFF_COST) / self.tokens_s


class Batch:
    """The running sequences and the queue before them.

    `strike` sees the running sequences before every step and may splice their plans. A sequence's first token is
    sent at once; the later ones share an event for `event_gap_s`, and with 0 each is an event of its own.
    """

    def __init__(
        self,
        pace: Pace,
        counters: Counters,
        strike: Callable[[list[Sequence]], None],
        *,
        max_running: int = MAX_RUNNING,
        event_gap_s: float = EVENT_GAP_S,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._pace, self._counters, self._strike = pace, counters, strike
        self._event_gap_s, self._clock = event_gap_s, clock
        self.max_running = max_running
        self._queue: deque[Sequence] = deque()
        self._running: list[Sequence] = []
        self._wake = asyncio.Event()

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence whose prompt is prefilled."""
        self._queue.append(sequence)
        self._wake.set()
        self._count()

    def step(self) -> float:
        """One decode step: admit, let the race strike, a token for every running sequence; returns its seconds."""
        self._admit()
        self._strike(self._running)
        for sequence in self._running:
            if not sequence.ended:
                self._counters.generation_tokens += sequence.decode()
        return self._pace.step_s(len(self._running))

    def flush(self, step_s: float) -> None:
        """Send what has waited long enough, and let go of the sequences that ended."""
        together = max(1, round(self._event_gap_s / step_s))
        for sequence in self._running:
            if sequence.ended or len(sequence.unsaid) >= together or sequence.silent:
                sequence.flush()
        self._running = [sequence for sequence in self._running if not sequence.ended]
        self._count()

    async def run(self) -> None:
        """Step by absolute deadlines for ever, so that a late wake-up does not slow the pace.

        Steps that fall due together are done together. Time lost beyond 0.25 s is not made up: then this
        machine, not the timetable, sets the pace.
        """
        deadline = self._clock()
        while True:
            if not self._running and not self._queue:
                await self._idle()
                deadline = self._clock()
            deadline = self._catch_up(max(deadline, self._clock() - _MAX_BEHIND_S))
            await asyncio.sleep(max(0.0, deadline - self._clock()))

    def close(self) -> None:
        """Abort everything."""
        for sequence in (*self._running, *self._queue):
            sequence.abort()

    def _catch_up(self, deadline: float) -> float:
        now, step_s = self._clock(), 0.0
        while deadline <= now and (self._running or self._queue):
            step_s = self.step()
            deadline += step_s
        if step_s:
            self.flush(step_s)
        return deadline

    async def _idle(self) -> None:
        self._wake.clear()
        await self._wake.wait()

    def _admit(self) -> None:
        while self._queue and len(self._running) < self.max_running:
            self._running.append(self._queue.popleft())

    def _count(self) -> None:
        self._counters.running, self._counters.queued = len(self._running), len(self._queue)
