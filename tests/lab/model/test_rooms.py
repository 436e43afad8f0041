from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest

from runbook.lab.model.request import Rendezvous
from runbook.lab.model.rooms import DecodeRooms, Prefilled, PrefillRooms, TransferError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.real

PROMPT = Prefilled(prompt_tokens=350, cached_tokens=64)


@contextlib.asynccontextmanager
async def listening(rooms: PrefillRooms, port: int = 0) -> AsyncIterator[int]:
    server = await rooms.serve("127.0.0.1", port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@contextlib.asynccontextmanager
async def asking(timeout_s: float = 5.0) -> AsyncIterator[DecodeRooms]:
    decode = DecodeRooms(timeout_s=timeout_s)
    try:
        yield decode
    finally:
        await decode.close()
        # The other side reads the end of the connection and closes its own.
        await asyncio.sleep(0.02)


def at(port: int, room: int = 7, host: str = "127.0.0.1") -> Rendezvous:
    return Rendezvous(host, port, room)


def test_decode_gets_what_prefill_accepted_before_or_after_it_asked() -> None:
    async def work() -> None:
        prefill = PrefillRooms()
        async with listening(prefill) as port, asking() as decode:
            prefill.accept(1, PROMPT)
            assert await decode.wait(at(port, 1)) == PROMPT
            waiting = asyncio.create_task(decode.wait(at(port, 2)))
            await asyncio.sleep(0.05)
            assert not waiting.done()
            prefill.accept(2, Prefilled(9, 0))
            assert await waiting == Prefilled(9, 0)

    asyncio.run(work())


def test_many_rooms_share_one_connection_and_do_not_mix() -> None:
    async def work() -> None:
        prefill = PrefillRooms()
        async with listening(prefill) as port, asking() as decode:
            waiting = [asyncio.create_task(decode.wait(at(port, room))) for room in range(80)]
            await asyncio.sleep(0.05)
            for room in reversed(range(80)):
                prefill.accept(room, Prefilled(room, 0))
            assert await asyncio.gather(*waiting) == [Prefilled(room, 0) for room in range(80)]

    asyncio.run(work())


def test_a_room_that_is_never_accepted_times_out() -> None:
    async def work() -> None:
        async with listening(PrefillRooms()) as port, asking(timeout_s=0.1) as decode:
            with pytest.raises(TransferError, match="no KV cache for room 7 within"):
                await decode.wait(at(port))

    asyncio.run(work())


def test_a_dead_prefill_fails_the_room_and_a_new_one_serves_again() -> None:
    async def work() -> None:
        async with asking() as decode:
            async with listening(PrefillRooms()) as port:
                pass
            with pytest.raises(TransferError, match="is gone"):
                await decode.wait(at(port))
            prefill = PrefillRooms()
            async with listening(prefill, port):
                prefill.accept(7, PROMPT)
                assert await decode.wait(at(port)) == PROMPT

    asyncio.run(work())


def test_rooms_fail_at_once_when_the_connection_is_lost() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.close()

    async def work() -> None:
        server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        async with server, asking() as decode:
            with pytest.raises(TransferError, match="connection was lost"):
                await decode.wait(at(server.sockets[0].getsockname()[1]))

    asyncio.run(work())


@pytest.mark.parametrize(
    "answer", [b"not json\n", b"[]\n", b'{"room": "x"}\n', b'{"room": 7}\n', b"x" * 9000]
)
def test_a_prefill_that_speaks_nonsense_fails_the_room(answer: bytes) -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answer)
        await reader.read()
        writer.close()

    async def work() -> None:
        server = await asyncio.start_server(babble, "127.0.0.1", 0)
        async with server, asking() as decode:
            with pytest.raises(TransferError, match="is gone"):
                await decode.wait(at(server.sockets[0].getsockname()[1]))

    asyncio.run(work())


def test_only_this_machine_is_asked() -> None:
    with pytest.raises(TransferError, match="is not this machine"):
        asyncio.run(DecodeRooms().wait(at(80, host="192.0.2.1")))


def test_rooms_nobody_asks_for_are_forgotten() -> None:
    async def work() -> None:
        prefill = PrefillRooms(keep_s=0.01)
        prefill.accept(7, PROMPT)
        await asyncio.sleep(0.05)
        async with listening(prefill) as port, asking(timeout_s=0.1) as decode:
            with pytest.raises(TransferError, match="no KV cache"):
                await decode.wait(at(port))

    asyncio.run(work())
