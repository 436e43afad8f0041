"""The rendezvous of a prefill and a decode process over the bootstrap port: one room a request.

Decode connects to prefill's bootstrap port and asks for a room, `{"room": n}` a line; prefill answers
`{"room": n, "prompt_tokens": p, "cached_tokens": c}` once it has accepted that room's prompt. Without that answer
decode has no KV cache and cannot start: a dead prefill really makes chat fail.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.lab.model.request import Rendezvous

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_LINE_BYTES = 4096


class TransferError(Exception):
    """Prefill did not hand the room over: unreachable, gone, or silent for too long."""


@dataclass(frozen=True, slots=True)
class Prefilled:
    """What prefill hands to decode for a room: the prompt's length, and how much of it was cached."""

    prompt_tokens: int
    cached_tokens: int


class PrefillRooms:
    """Prefill's side: rooms accepted, and decode processes waiting for them."""

    def __init__(self, *, keep_s: float = 30.0) -> None:
        self._keep_s = keep_s
        self._rooms: dict[int, asyncio.Future[Prefilled]] = {}
        self._links: set[asyncio.StreamWriter] = set()

    def accept(self, room: int, prefilled: Prefilled) -> None:
        """The prompt of a room is prefilled; whoever waits for it may start."""
        future = self._room(room)
        if not future.done():
            future.set_result(prefilled)

    async def serve(self, host: str, port: int) -> asyncio.Server:
        """Listen on the bootstrap port."""
        return await asyncio.start_server(self._converse, host, port, limit=_LINE_BYTES)

    def close(self) -> None:
        """Hang up on every decode process."""
        for link in self._links:
            link.close()

    def _room(self, room: int) -> asyncio.Future[Prefilled]:
        if room not in self._rooms:
            loop = asyncio.get_running_loop()
            self._rooms[room] = loop.create_future()
            loop.call_later(self._keep_s, self._forget, room)
        return self._rooms[room]

    def _forget(self, room: int) -> None:
        self._rooms.pop(room).cancel()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._links.add(writer)
        with contextlib.closing(writer):
            while (asked := await _read_object(reader)) is not None:
                room = asked.get("room")
                if isinstance(room, int):
                    self._room(room).add_done_callback(functools.partial(_hand_over, writer, room))
        self._links.discard(writer)


def _hand_over(writer: asyncio.StreamWriter, room: int, future: asyncio.Future[Prefilled]) -> None:
    if future.cancelled() or writer.is_closing():
        return
    got = future.result()
    _write_object(
        writer, {"room": room, "prompt_tokens": got.prompt_tokens, "cached_tokens": got.cached_tokens}
    )


class DecodeRooms:
    """Decode's side: one connection to each prefill, many rooms over it.

    `timeout_s` bounds the wait for a room; a room nobody hands over raises TransferError.
    """

    def __init__(self, *, timeout_s: float = 5.0) -> None:
        self._timeout_s = timeout_s
        self._links: dict[tuple[str, int], _Link] = {}

    async def wait(self, where: Rendezvous) -> Prefilled:
        """Wait until prefill has accepted the room."""
        try:
            async with asyncio.timeout(self._timeout_s):
                link = await self._link(where)
                return await link.ask(where.room)
        except TimeoutError:
            raise TransferError(f"no KV cache for room {where.room} within {self._timeout_s:g} s") from None
        except OSError as error:
            raise TransferError(f"prefill at {where.host}:{where.port} is gone: {error}") from None

    async def close(self) -> None:
        """Hang up everywhere; who still waits gets TransferError."""
        for link in self._links.values():
            await link.close()

    async def _link(self, where: Rendezvous) -> _Link:
        if where.host not in LOOPBACK:
            raise TransferError(f"bootstrap host {where.host} is not this machine")
        address = (where.host, where.port)
        link = self._links.get(address)
        if link is None or link.lost:
            link = self._links[address] = _Link(*address)
        await link.opened()
        return link


class _Link:
    """A connection to one prefill's bootstrap port."""

    def __init__(self, host: str, port: int) -> None:
        self._waiting: dict[int, asyncio.Future[Prefilled]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(host, port))

    @property
    def lost(self) -> bool:
        return self._task.done()

    async def opened(self) -> None:
        await asyncio.shield(self._ready)

    async def ask(self, room: int) -> Prefilled:
        if self._writer is None or self.lost:
            raise ConnectionResetError("the bootstrap connection was lost")
        future: asyncio.Future[Prefilled] = asyncio.get_running_loop().create_future()
        self._waiting[room] = future
        _write_object(self._writer, {"room": room})
        try:
            return await future
        finally:
            self._waiting.pop(room, None)

    async def close(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self, host: str, port: int) -> None:
        try:
            reader, self._writer = await asyncio.open_connection(host, port, limit=_LINE_BYTES)
        except OSError as error:
            self._ready.set_exception(error)
            return
        self._ready.set_result(None)
        with contextlib.closing(self._writer):
            try:
                while (answer := await _read_object(reader)) is not None and self._settle(answer):
                    pass
            finally:
                self._fail()

    def _settle(self, answer: Mapping[str, Any]) -> bool:
        """Hand a room's prompt to who waits for it; False where the answer makes no sense."""
        numbers = [answer.get(name) for name in ("room", "prompt_tokens", "cached_tokens")]
        if not all(isinstance(number, int) for number in numbers):
            return False
        future = self._waiting.get(answer["room"])
        if future is not None and not future.done():
            future.set_result(Prefilled(answer["prompt_tokens"], answer["cached_tokens"]))
        return True

    def _fail(self) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ConnectionResetError("the bootstrap connection was lost"))


async def _read_object(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next line's object; None at the end, or where the other side does not speak this protocol."""
    try:
        line = await reader.readline()
        found = json.loads(line) if line else None
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _write_object(writer: asyncio.StreamWriter, value: Mapping[str, Any]) -> None:
    writer.write(json.dumps(value).encode() + b"\n")
