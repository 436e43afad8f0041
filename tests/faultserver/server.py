"""The fault server: HTTP/1.1 on a loopback port, one behaviour a request, chosen by a function of the test."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook.load.player import right_call
from tests.faultserver.reply import Plan, encoded, events_of, plan_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    Choose = Callable[["Request"], "Behaviour"]


@dataclass(frozen=True, slots=True)
class Request:
    """A chat request: its body, its number at this server, the right plan for it."""

    body: Mapping[str, Any]
    number: int
    plan: Plan | None
    rng: random.Random


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What the server does with one request. `stream` None: the right stream.

    `cut_after` bytes the connection is closed in the middle of the body, or reset; `stall_after` bytes it goes
    silent; `silent` never answers. `pieces` is how many writes the stream is cut into, `pause_s` between them.
    `framed` makes the whole answer of a stream, head and all, in writes of its own; `hangs_up` closes after it.
    """

    status: int = 200
    stream: bytes | None = None
    cut_after: int | None = None
    reset: bool = False
    stall_after: int | None = None
    silent: bool = False
    pieces: int = 8
    pause_s: float = 0.0
    error: Mapping[str, Any] = field(default_factory=lambda: {"error": {"message": "no"}})
    framed: Callable[[bytes], Sequence[bytes]] | None = None
    hangs_up: bool = False


def right(request: Request) -> Behaviour:
    """A correct server."""
    return Behaviour()


class FaultServer:
    """Serves until its context ends. `choose` may be replaced while it runs; `busy` counts streams in progress."""

    def __init__(
        self,
        choose: Choose = right,
        *,
        models: Sequence[str] = ("m",),
        key: str | None = None,
        chat_status: int = 200,
    ) -> None:
        self.choose = choose
        self.models = models
        self.key = key
        self.metrics = ""
        self.chat_status = chat_status
        self.port = 0
        self.requests = 0
        self.busy = 0
        self.bodies: list[Mapping[str, Any]] = []
        self._random = random.Random(1)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[FaultServer]:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            self.die()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._server.wait_closed(), 5)

    def die(self) -> None:
        """Stop listening and drop every connection, as a crashed process does."""
        if self._server:
            self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while await self._request(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            _json(writer, 401, {"error": {"message": "wrong key"}})
        elif "/v1/models" in first:
            _json(writer, 200, {"data": [{"id": model} for model in self.models]})
        elif "/metrics" in first and self.metrics:
            _text(writer, self.metrics)
        elif "/v1/chat/completions" in first:
            await self._chat(json.loads(body), writer)
        else:
            _json(writer, 404, {})
        await writer.drain()
        return headers.get("connection", "").lower() != "close"

    async def _chat(self, body: Mapping[str, Any], writer: asyncio.StreamWriter) -> None:
        if not body.get("stream"):
            answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}}]}
            _json(
                writer, self.chat_status, answer if self.chat_status == 200 else {"error": {"message": "no"}}
            )
            return
        self.requests += 1
        self.bodies.append(body)
        call = right_call(body["messages"])
        plan = plan_of(*call, self._random) if call else None
        request = Request(body, self.requests, plan, self._random)
        behaviour = self.choose(request)
        if behaviour.silent:
            await asyncio.sleep(3600)
        if behaviour.status != 200:
            _json(writer, behaviour.status, behaviour.error)
            return
        stream = behaviour.stream
        if stream is None:
            stream = encoded(events_of(plan)) if plan else encoded([])
        self.busy += 1
        try:
            await _stream(writer, stream, behaviour)
        finally:
            self.busy -= 1


async def _stream(writer: asyncio.StreamWriter, stream: bytes, behaviour: Behaviour) -> None:
    if behaviour.framed is not None:
        await _framed(writer, behaviour.framed(stream), behaviour)
        return
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    end = next((at for at in (behaviour.cut_after, behaviour.stall_after) if at is not None), len(stream))
    width = max(1, len(stream) // behaviour.pieces)
    for at in range(0, end, width):
        piece = stream[at : min(at + width, end)]
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()
        await asyncio.sleep(behaviour.pause_s)
    if behaviour.stall_after is not None:
        await asyncio.sleep(3600)
    if behaviour.reset:
        writer.transport.abort()
        raise ConnectionResetError
    if behaviour.cut_after is not None:
        raise ConnectionError
    writer.write(b"0\r\n\r\n")


async def _framed(writer: asyncio.StreamWriter, pieces: Sequence[bytes], behaviour: Behaviour) -> None:
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(behaviour.pause_s)
    if behaviour.hangs_up:
        raise ConnectionError


def _text(writer: asyncio.StreamWriter, text: str) -> None:
    body = text.encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: %d\r\n\r\n" % len(body)
    writer.write(head + body)


def _json(writer: asyncio.StreamWriter, status: int, document: Mapping[str, Any]) -> None:
    body = json.dumps(document).encode()
    writer.write(
        b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
        % (status, len(body), body)
    )
