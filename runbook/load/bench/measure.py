"""When requests go out: a closed loop that keeps so many in flight, and an open one that follows a schedule."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Protocol

from runbook.load.bench.request import RawStream

if TYPE_CHECKING:
    from collections.abc import Sequence

_AFTER_FAILURE_S = 0.05  # a server that refuses at once must not be asked a thousand times a second


class Send(Protocol):
    """Sends one request and fills its stream."""

    async def __call__(self, raw: RawStream, /) -> None: ...


async def closed_loop(
    send: Send, streams: list[RawStream], *, concurrency: int, requests: int, until: float | None = None
) -> None:
    """`concurrency` requests in flight; the next goes out when one ends, until `requests` are sent.

    With `until` (a perf_counter moment) they are sent until then, however many; what is in flight ends by itself.
    `streams` is filled as they go out.
    """

    def more() -> bool:
        return len(streams) < requests if until is None else time.perf_counter() < until

    async def worker() -> None:
        while more():
            raw = RawStream(len(streams))
            streams.append(raw)
            await send(raw)
            if raw.failure:
                await asyncio.sleep(_AFTER_FAILURE_S)

    await asyncio.gather(*(worker() for _ in range(concurrency)))


async def open_loop(
    send: Send, streams: list[RawStream], *, times: Sequence[float], concurrency: int
) -> None:
    """One request at each of `times` (seconds from now), at most `concurrency` in flight (0: no limit).

    A request that waits for a free slot keeps its intended time, so the wait counts as its latency.
    `streams` is filled as their times come.
    """
    started = time.perf_counter()
    slots = asyncio.Semaphore(concurrency or len(times) or 1)

    async def one(raw: RawStream) -> None:
        async with slots:
            await send(raw)

    tasks = []
    for index, at in enumerate(times):
        await asyncio.sleep(max(0.0, started + at - time.perf_counter()))
        raw = RawStream(index, started + at)
        streams.append(raw)
        tasks.append(asyncio.create_task(one(raw)))
    await asyncio.gather(*tasks)
