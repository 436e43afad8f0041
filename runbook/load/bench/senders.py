"""How one request is sent: over the bare wire for http, with httpx for https."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

import httpx

from runbook.load import unconnected
from runbook.load.bench.bounds import OversizedAnswerError, cost_of, most_bytes, too_much
from runbook.load.bench.wire import target, wire_sender
from runbook.load.client import NotAStreamError, StatusError, stream_chat

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from runbook.load.bench.measure import Send
    from runbook.load.bench.request import RawStream
    from runbook.load.bench.settings import Settings

# On Python 3.10 asyncio's TimeoutError is not the builtin one.
_EXPECTED = (
    asyncio.TimeoutError,
    httpx.HTTPError,
    httpx.StreamError,
    NotAStreamError,
    OversizedAnswerError,
    StatusError,
)


@contextlib.asynccontextmanager
async def sending(
    client: httpx.AsyncClient, settings: Settings, body: Callable[[int], dict[str, Any]], *, ahead: int
) -> AsyncIterator[Send]:
    """The sender for the settings' endpoint, while the block runs; `ahead` connections are open before it starts."""
    if settings.base_url.startswith("http://"):
        to = target(settings.base_url, settings.api_key)
        async with wire_sender(
            to, body, ahead=ahead, deadline_s=settings.deadline_s, stall_s=settings.stall_s
        ) as send:
            yield send
    else:
        yield httpx_sender(client, body, deadline_s=settings.deadline_s)


def httpx_sender(
    client: httpx.AsyncClient, body: Callable[[int], dict[str, Any]], *, deadline_s: float
) -> Send:
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
            raw.detail = unconnected.why(error) if raw.failure == "refused" else raw.detail
        raw.ended = time.perf_counter()

    return send


async def _read(client: httpx.AsyncClient, content: dict[str, Any], raw: RawStream) -> None:
    keep, cost, most = raw.reads.append, 0, most_bytes(content)
    async for read in stream_chat(client, content):
        keep(read)
        cost += cost_of(read[1])
        if cost > most:
            raise OversizedAnswerError(too_much(most))


def _kind(error: Exception, started: bool) -> str:
    match error:
        case StatusError():
            return f"http {error.status}"
        case NotAStreamError():
            return "not a stream"
        case OversizedAnswerError():
            return "badstream"
        case httpx.ConnectError() | httpx.ConnectTimeout():
            return "refused"
        case httpx.ReadTimeout() | httpx.PoolTimeout() | httpx.WriteTimeout():
            return "stalled" if started else "timeout"
        case asyncio.TimeoutError():
            return "deadline"
        case _:
            return "cut" if started else "reset"
