"""The hot path: sends one repeat's requests and keeps stamps and bytes, nothing else."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from runbook.load.bench.request import RawStream
from runbook.load.client import NotAStreamError, StatusError, stream_chat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# On Python 3.10 asyncio's TimeoutError is not the builtin one.
_EXPECTED = (asyncio.TimeoutError, httpx.HTTPError, httpx.StreamError, NotAStreamError, StatusError)
_AFTER_FAILURE_S = 0.05  # a server that refuses at once must not be asked a thousand times a second


class Send(Protocol):
    """Sends one request and fills its stream."""

    async def __call__(self, raw: RawStream, /) -> None: ...


def sender(client: httpx.AsyncClient, body: Callable[[int], dict[str, Any]], *, deadline_s: float) -> Send:
    """One request: fills a RawStream and never raises for what the server or the network does.

    `body` makes the request of an index; it is made before the send is stamped. After `deadline_s` it is given up.
    """

    async def send(raw: RawStream) -> None:
        content = body(raw.index)
        raw.sent = time.perf_counter()
        raw.intended = raw.intended or raw.sent
        try:
            await asyncio.wait_for(_read(client, content, raw), deadline_s)
        except _EXPECTED as error:
            raw.failure, raw.detail = _kind(error, bool(raw.reads)), str(error)[:200]
        raw.ended = time.perf_counter()

    return send


async def _read(client: httpx.AsyncClient, content: dict[str, Any], raw: RawStream) -> None:
    keep = raw.reads.append
    async for read in stream_chat(client, content):
        keep(read)


def _kind(error: Exception, started: bool) -> str:
    match error:
        case StatusError():
            return f"http {error.status}"
        case NotAStreamError():
            return "not a stream"
        case httpx.ConnectError() | httpx.ConnectTimeout():
            return "refused"
        case httpx.ReadTimeout() | httpx.PoolTimeout() | httpx.WriteTimeout():
            return "stalled" if started else "timeout"
        case asyncio.TimeoutError():
            return "deadline"
        case _:
            return "cut" if started else "reset"


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
