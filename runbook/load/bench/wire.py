"""The cheapest way to send a request over plain HTTP and stamp what comes: an asyncio protocol that only appends.

httpx costs about 110 µs of CPU a chunk, and a batching server sends the chunks of all streams at one moment: the last of
80 would be stamped 8 ms late. Here a chunk costs a few microseconds (`benchmarks/client_bound.py` prints both); heads,
chunks and events are read after the load. One connection a request, closed by the server, as other benches do.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runbook.load.bench.http1 import FramingError, read_response
from runbook.load.client import CHAT_PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runbook.load.bench.measure import Send
    from runbook.load.bench.request import RawStream

_LAST_CHUNK = b"0\r\n\r\n"
_CLOSING_S = 0.001
_CONNECT_S = 10.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go: `address` to connect to, `head` what every request starts with."""

    address: tuple[str, int]
    head: bytes


def target(base_url: str, api_key: str | None = None) -> Target:
    """The chat endpoint of an http URL, with or without /v1. Raises ValueError for any other scheme."""
    url = urlsplit(base_url.rstrip("/").removesuffix("/v1"))
    if url.scheme != "http" or not url.hostname:
        raise ValueError(f"should be http://HOST[:PORT], found {base_url!r}")
    lines = [
        f"POST {url.path}{CHAT_PATH} HTTP/1.1",
        f"Host: {url.netloc.rpartition('@')[2]}",
        "Content-Type: application/json",
        "Accept: text/event-stream",
        "Accept-Encoding: identity",
        "Connection: close",
        *([f"Authorization: Bearer {api_key}"] if api_key else []),
    ]
    return Target((url.hostname, url.port or 80), "\r\n".join(lines).encode("latin-1"))


def wire_sender(
    to: Target, body: Callable[[int], Mapping[str, Any]], *, deadline_s: float, stall_s: float
) -> Send:
    """Like `measure.sender`, without httpx. `stall_s` bounds the silence before and within an answer."""

    async def send(raw: RawStream) -> None:
        raw.framed = True
        content = json.dumps(body(raw.index), ensure_ascii=False, separators=(",", ":")).encode()
        request = b"%s\r\nContent-Length: %d\r\n\r\n%s" % (to.head, len(content), content)
        raw.sent = time.perf_counter()
        raw.intended = raw.intended or raw.sent
        stream = _Stream(raw, asyncio.get_running_loop(), deadline_s, stall_s)
        try:
            transport = await _connected(stream, to.address)
        except (asyncio.TimeoutError, OSError) as error:  # noqa: UP041  (not the builtin one on Python 3.10)
            raw.failure, raw.detail = "refused", str(error)
        else:
            transport.write(request)
            await stream.finished()
        raw.ended = raw.ended or time.perf_counter()

    return send


async def _connected(stream: _Stream, address: tuple[str, int]) -> asyncio.WriteTransport:
    connecting = asyncio.get_running_loop().create_connection(lambda: stream, *address)
    transport, _ = await asyncio.wait_for(connecting, _CONNECT_S)
    return transport


class _Stream(asyncio.Protocol):
    """Appends what arrives to its RawStream; ends at the response's end, the connection's, or a limit."""

    def __init__(
        self, raw: RawStream, loop: asyncio.AbstractEventLoop, deadline_s: float, stall_s: float
    ) -> None:
        self._raw, self._loop, self._stall_s = raw, loop, stall_s
        self._over = raw.sent + deadline_s
        self._ended: asyncio.Future[None] = loop.create_future()
        self._transport: asyncio.BaseTransport | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def finished(self) -> None:
        """Return when the response is over, however it ended; a cancelled wait closes the connection."""
        self._watch()
        try:
            await self._ended
        finally:
            if self._timer:
                self._timer.cancel()
            if self._transport is not None:
                self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._raw.reads.append((time.perf_counter(), data))
        if data.endswith(
            _LAST_CHUNK
        ):  # then the server closes; whether it was the end is read only where it does not
            self._loop.call_later(_CLOSING_S, self._check)

    def connection_lost(self, error: Exception | None) -> None:
        self._end("" if error is None else ("cut" if self._raw.reads else "reset"), str(error or ""))

    def _check(self) -> None:
        if not self._ended.done() and _whole(self._raw):
            self._end()

    def _watch(self) -> None:
        now, last = time.perf_counter(), self._raw.reads[-1][0] if self._raw.reads else self._raw.sent
        if now >= self._over:
            self._end("deadline", "the request took too long")
        elif now - last >= self._stall_s:
            self._end("stalled" if self._raw.reads else "timeout", f"silent for {self._stall_s:g} s")
        else:
            self._timer = self._loop.call_later(
                min(self._over - now, last + self._stall_s - now) + 1e-3, self._watch
            )

    def _end(self, failure: str = "", detail: str = "") -> None:
        if not self._ended.done():
            last = self._raw.reads[-1][0] if self._raw.reads and not failure else time.perf_counter()
            self._raw.failure, self._raw.detail, self._raw.ended = failure, detail, last
            self._ended.set_result(None)


def _whole(raw: RawStream) -> bool:
    try:
        return read_response(raw.reads).whole
    except FramingError:
        return True
