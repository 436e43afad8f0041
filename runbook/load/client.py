"""The HTTP client of sessions and bench: one httpx client, and the raw read of a streamed chat.

Environment proxies are ignored, nothing is retried, every phase has a time limit, and the pool is as large
as the load.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import httpx

from runbook.load.address import CHAT_PATH, root

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

_EXCERPT_BYTES = 2000


class StatusError(Exception):
    """The server answered something else than 200; `body` is the start of its answer."""

    def __init__(self, status: int, body: str) -> None:
        self.status, self.body = status, body
        super().__init__(f"HTTP {status}: {body[:200]}")


class NotAStreamError(Exception):
    """A 200 whose body is no event stream: the server ignored `stream: true`."""

    def __init__(self, content_type: str, body: str) -> None:
        self.content_type, self.body = content_type, body
        super().__init__(f"expected text/event-stream, found {content_type!r}: {body[:200]}")


def open_client(
    base_url: str,
    *,
    api_key: str | None = None,
    connections: int,
    read_timeout_s: float = 120.0,
    transport: httpx.AsyncBaseTransport | None = None,
) -> httpx.AsyncClient:
    """A client of `base_url` (with or without what stands from /v1 on) that can hold `connections` streams at once.

    `read_timeout_s` bounds the silence between two reads, not a whole response.
    """
    base = root(base_url)
    return httpx.AsyncClient(
        base_url=base,
        headers={"authorization": f"Bearer {api_key}"} if api_key else {},
        trust_env=False,
        # Building a TLS context costs 120–240 ms and a plain URL never uses it.
        verify=base.startswith("https://"),
        http2=False,
        timeout=httpx.Timeout(connect=10.0, read=read_timeout_s, write=30.0, pool=30.0),
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        transport=transport,
    )


async def stream_chat(
    client: httpx.AsyncClient, body: Mapping[str, Any]
) -> AsyncIterator[tuple[float, bytes]]:
    """POST `body` to the chat endpoint; yields (arrival, bytes) a read, in `time.perf_counter()` seconds.

    The bytes are those of the event stream as they came, not cut at events. `body` carries `stream: true`.
    Raises StatusError, NotAStreamError, and httpx.TransportError for what the network does.
    """
    clock = time.perf_counter
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "accept-encoding": "identity",
    }
    content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    async with client.stream("POST", CHAT_PATH, content=content, headers=headers) as response:
        await _expect_event_stream(response)
        async for chunk in response.aiter_raw():
            yield clock(), chunk


async def _expect_event_stream(response: httpx.Response) -> None:
    content_type = response.headers.get("content-type", "")
    coding = response.headers.get("content-encoding", "identity").lower()
    plain = content_type.partition(";")[0].strip().lower() == "text/event-stream" and coding == "identity"
    if response.status_code == 200 and plain:
        return
    body = await _excerpt(response)
    if response.status_code != 200:
        raise StatusError(response.status_code, body)
    raise NotAStreamError(content_type if coding == "identity" else f"{content_type} in {coding}", body)


async def _excerpt(response: httpx.Response) -> str:
    """The start of an error body, bounded whatever the server sends."""
    found = b""
    async for chunk in response.aiter_raw():
        found += chunk
        if len(found) >= _EXCERPT_BYTES:
            break
    return found[:_EXCERPT_BYTES].decode("utf-8", "replace")
