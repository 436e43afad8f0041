"""The cheapest way to send a request over plain HTTP and stamp what comes: an asyncio protocol that only appends.

httpx costs about 110 µs of CPU a chunk, and a batching server sends the chunks of all streams at one moment: the last of
80 would be stamped 8 ms late. Here a chunk costs about 10 µs (`benchmarks/client_bound.py` prints both); heads,
chunks and events are read after the load. Connections are opened before the load and used again, so that connecting is
no part of a latency.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runbook.load import unconnected
from runbook.load.address import CHAT_PATH, root
from runbook.load.bench.arriving import Arriving
from runbook.load.bench.bounds import OversizedAnswerError, most_bytes
from runbook.load.bench.http1 import FramingError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from runbook.load.bench.measure import Send
    from runbook.load.bench.request import RawStream

_CONNECT_S = 10.0
_IDLE_S = (
    1.0  # servers close idle connections after 5 s and more; one that is about to be closed must not be used
)
_STALE_S = 0.5
"""A used connection that ends this soon after a request, without a byte, had been closed before it (RFC 9112, 9.3.1)."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go: `address` to connect to, `head` what every request starts with."""

    address: tuple[str, int]
    head: bytes


def target(base_url: str, api_key: str | None = None) -> Target:
    """The chat endpoint of an http URL, with or without what stands from /v1 on. Raises ValueError for any other scheme."""
    url = urlsplit(root(base_url))
    if url.scheme != "http" or not url.hostname:
        raise ValueError(f"should be http://HOST[:PORT], found {base_url!r}")
    lines = [
        f"POST {url.path}{CHAT_PATH} HTTP/1.1",
        f"Host: {url.netloc.rpartition('@')[2]}",
        "Content-Type: application/json",
        "Accept: text/event-stream",
        "Accept-Encoding: identity",
        *([f"Authorization: Bearer {api_key}"] if api_key else []),
    ]
    return Target((url.hostname, url.port or 80), "\r\n".join(lines).encode("latin-1"))


@contextlib.asynccontextmanager
async def wire_sender(
    to: Target,
    body: Callable[[int], Mapping[str, Any]],
    *,
    ahead: int,
    deadline_s: float,
    stall_s: float,
) -> AsyncIterator[Send]:
    """A Send over connections of its own, `ahead` of them opened at once; all are closed at the end.

    `stall_s` bounds the silence before and within an answer, `deadline_s` a whole request.
    """
    pool = _Pool(to.address)

    async def send(raw: RawStream) -> None:
        raw.framed = True
        wanted = body(raw.index)
        content = json.dumps(wanted, ensure_ascii=False, separators=(",", ":")).encode()
        request = b"%s\r\nContent-Length: %d\r\n\r\n%s" % (to.head, len(content), content)
        raw.sent = time.perf_counter()
        raw.intended = raw.intended or raw.sent
        stale = True
        while stale:
            try:
                connection = await pool.take()
            except (asyncio.TimeoutError, OSError) as error:
                raw.failure, raw.detail, raw.ended = "refused", unconnected.why(error), time.perf_counter()
                return
            used, asked = connection.used, time.perf_counter()
            answer = Arriving(raw, most_bytes(wanted))
            await connection.ask(request, answer, deadline_s=deadline_s, stall_s=stall_s)
            pool.give_back(connection)
            stale = used and raw.failure in ("", "reset") and not raw.reads and raw.ended - asked < _STALE_S

    try:
        await pool.fill(ahead)
        yield send
    finally:
        pool.close()


class _Pool:
    """Open connections that wait for a request."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._idle: list[_Connection] = []

    async def fill(self, number: int) -> None:
        """Open `number` connections; where nobody listens, the requests will find out."""
        opened = await asyncio.gather(*(self._connect() for _ in range(number)), return_exceptions=True)
        self._idle += [connection for connection in opened if isinstance(connection, _Connection)]

    async def take(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.fresh:
                return connection
            connection.close()
        return await self._connect()

    def give_back(self, connection: _Connection) -> None:
        if connection.fresh:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        for connection in self._idle:
            connection.close()

    async def _connect(self) -> _Connection:
        opening = asyncio.get_running_loop().create_connection(_Connection, *self._address)
        _, connection = await asyncio.wait_for(opening, _CONNECT_S)
        return connection


class _Connection(asyncio.Protocol):
    """One connection: hands what arrives to the answer in progress, and ends it with the answer or the time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._answer: Arriving | None = None
        self._ended: asyncio.Future[None] | None = None
        self._watching: asyncio.Handle
        self._idle_since = 0.0
        self.used = False

    @property
    def fresh(self) -> bool:
        """Whether another request may be sent on it."""
        idle_s = time.perf_counter() - self._idle_since
        return self._transport is not None and not self._transport.is_closing() and idle_s < _IDLE_S

    async def ask(self, request: bytes, answer: Arriving, *, deadline_s: float, stall_s: float) -> None:
        """Send one request and return when its answer is over, however it ended."""
        assert self._transport is not None
        self._answer, self._ended = answer, self._loop.create_future()
        over = answer.raw.sent + deadline_s
        self._watching = self._loop.call_soon(self._watch, answer.raw, over, stall_s)
        self._transport.write(request)
        try:
            await self._ended
        finally:
            self._answer, self.used = None, True
            self._watching.cancel()  # else its timer would hold on to `raw` until it went off
            self._idle_since = time.perf_counter()
            if answer.raw.failure or not answer.keeps:
                self.close()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._idle_since = time.perf_counter()

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:
            return self.close()  # nothing was asked
        try:
            whole = answer.take(time.perf_counter(), data)
        except (FramingError, OversizedAnswerError) as error:
            return self._end(answer.raw, "badstream", str(error))
        if whole:
            self._end(answer.raw)
        return None

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None:
            raw = self._answer.raw
            kind = "" if error is None else ("cut" if raw.reads else "reset")
            self._end(raw, kind, str(error or ""))

    def _watch(self, raw: RawStream, over: float, stall_s: float) -> None:
        if self._answer is None or self._answer.raw is not raw:
            return
        now, last = time.perf_counter(), raw.reads[-1][0] if raw.reads else raw.sent
        if now >= over:
            self._end(raw, "deadline", "the request took too long")
        elif now - last >= stall_s:
            self._end(raw, "stalled" if raw.reads else "timeout", f"silent for {stall_s:g} s")
        else:
            again_s = min(over, last + stall_s) - now + 1e-3
            self._watching = self._loop.call_later(again_s, self._watch, raw, over, stall_s)

    def _end(self, raw: RawStream, failure: str = "", detail: str = "") -> None:
        if self._ended is None or self._ended.done():
            return
        raw.failure, raw.detail = failure, detail
        raw.ended = raw.reads[-1][0] if raw.reads and not failure else time.perf_counter()
        self._ended.set_result(None)
