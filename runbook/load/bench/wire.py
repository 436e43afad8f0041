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
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runbook.load.address import CHAT_PATH, root
from runbook.load.bench.bounds import cost_of, most_bytes, too_much
from runbook.load.bench.http1 import MAX_HEAD_BYTES, FramingError, read_response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from runbook.load.bench.measure import Send
    from runbook.load.bench.request import RawStream

_LAST_CHUNK = b"\r\n0\r\n\r\n"
_ODD_LAST_CHUNK = re.compile(rb"\r\n0+[ \t]*(?:;[^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*\r\n\Z")
"""With more zeros, an extension or trailers (RFC 9112, 7.1)."""
_TAIL = 1024
_FALSE_ENDS = 16
"""So often an answer may look over without being it: each time all of it is read."""
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
                raw.failure, raw.detail, raw.ended = "refused", str(error), time.perf_counter()
                return
            used, asked = connection.used, time.perf_counter()
            await connection.ask(
                request, raw, deadline_s=deadline_s, stall_s=stall_s, most=most_bytes(wanted)
            )
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
    """One connection: appends what arrives to the request in progress, and sees where its answer ends."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._raw: RawStream | None = None
        self._ended: asyncio.Future[None] | None = None
        self._watching: asyncio.Handle
        self._framing = ""  # how the answer ends, once its head is here
        self._keep = False
        self._most = self._size = self._cost = 0
        self._missing = 0  # bytes of an answer with a length that are still to come
        self._false_ends = 0
        self._tail = b""
        self._idle_since = 0.0
        self.used = False

    @property
    def fresh(self) -> bool:
        """Whether another request may be sent on it."""
        idle_s = time.perf_counter() - self._idle_since
        return self._transport is not None and not self._transport.is_closing() and idle_s < _IDLE_S

    async def ask(
        self, request: bytes, raw: RawStream, *, deadline_s: float, stall_s: float, most: int
    ) -> None:
        """Send one request and return when its answer is over, however it ended; `most` bytes of it are kept."""
        assert self._transport is not None
        self._raw, self._ended, self._framing, self._keep = raw, self._loop.create_future(), "", False
        self._size, self._cost, self._most, self._false_ends, self._tail = 0, 0, most, 0, b""
        self._watching = self._loop.call_soon(self._watch, raw, raw.sent + deadline_s, stall_s)
        self._transport.write(request)
        try:
            await self._ended
        finally:
            self._raw, self.used = None, True
            self._watching.cancel()  # else its timer would hold on to `raw` until it went off
            self._idle_since = time.perf_counter()
            if raw.failure or not self._keep:
                self.close()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._idle_since = time.perf_counter()

    def data_received(self, data: bytes) -> None:
        raw = self._raw
        if raw is None:
            return self.close()  # nothing was asked
        raw.reads.append((time.perf_counter(), data))
        self._size += len(data)
        self._cost += cost_of(data)
        self._tail = (self._tail + data)[-_TAIL:]
        if self._cost > self._most:
            return self._end(raw, "badstream", too_much(self._most))
        self._missing -= len(data)
        if not self._framing and self._may_have_head(data):
            self._learn(raw)
        if self._over(raw):
            self._end(raw)
        return None

    def _may_have_head(self, data: bytes) -> bool:
        """A head that drips is read once its end is here, not with every drop."""
        return b"\r\n\r\n" in data or b"\r\n\r\n" in self._tail or self._size > MAX_HEAD_BYTES

    def connection_lost(self, error: Exception | None) -> None:
        if self._raw is not None:
            kind = "" if error is None else ("cut" if self._raw.reads else "reset")
            self._end(self._raw, kind, str(error or ""))

    def _learn(self, raw: RawStream) -> None:
        """What the head, once it is whole, says about the answer's end and the connection's."""
        try:
            response = read_response(raw.reads)
        except FramingError as error:
            return self._end(raw, "badstream", str(error))
        self._framing, self._missing = response.framing, response.missing
        self._keep = response.framing != "close" and response.keeps
        return None

    def _over(self, raw: RawStream) -> bool:
        """Whether the answer is whole. Of a chunked one mostly only the tail is looked at; all of it is read after the load."""
        if self._framing == "chunked":
            tail = self._tail
            if tail.endswith(_LAST_CHUNK):
                return True
            odd = tail.endswith(b"\r\n\r\n") and _ODD_LAST_CHUNK.search(tail)
            return bool(odd) and self._really_over(raw)
        return self._framing == "length" and self._missing <= 0

    def _really_over(self, raw: RawStream) -> bool:
        over = read_response(raw.reads).whole
        self._false_ends += not over
        if self._false_ends > _FALSE_ENDS:
            self._end(raw, "badstream", "an answer that looks over again and again")
        return over

    def _watch(self, raw: RawStream, over: float, stall_s: float) -> None:
        if self._raw is not raw:
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
