"""What the client of the agent sessions costs: `python -m benchmarks.client_cost [streams] [responses]`.

A server in a process of its own streams store_record replies of 24 rows, one chunk a write, many streams at once. The
client's CPU per streamed chunk is printed for a bare httpx read loop, for httpx through `stream_chat`, and for all that
a session does: the bare wire, assembly of the reply and every judge. Then the client's memory for short and long runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import sys
import time
from multiprocessing import get_context
from typing import TYPE_CHECKING

import httpx

from runbook.load.address import CHAT_PATH
from runbook.load.ask import Asker, Bodies, answer_of
from runbook.load.bench.wire import target, wire_sender
from runbook.load.client import open_client, stream_chat
from runbook.load.exchange import turns
from runbook.load.gauge import Gauge
from runbook.load.judgement import judge_turn
from tests.faultserver.inprocess import MAX_TOKENS, Table, right, table
from tests.faultserver.reply import plan_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from multiprocessing.connection import Connection

    Read = Callable[[], Awaitable[int]]

ALLOWED = 1.15
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def cards() -> Table:
    return table(1, sessions=1, rounds=1, rows=24)


def chunks() -> list[bytes]:
    """One right store_record reply, an event a chunk."""
    dealt = cards()
    turn = turns(dealt.scripts[0])[1]
    stream = right(dealt.scripts[0], turn, plan_of(turn.name, dict(turn.arguments), dealt.rng))
    events = [event + b"\n\n" for event in stream.split(b"\n\n") if event]
    return [b"%x\r\n%s\r\n" % (len(event), event) for event in events]


async def serve(port_to: Connection, pause_s: float) -> None:
    """Answer every request with the reply, `pause_s` after each chunk (0: as fast as it goes)."""
    reply = chunks()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                writer.write(_HEAD)
                for chunk in reply:
                    writer.write(chunk)
                    await asyncio.sleep(pause_s)
                writer.write(b"0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port_to.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def serving(port_to: Connection, pause_s: float) -> None:
    asyncio.run(serve(port_to, pause_s))


@contextlib.contextmanager
def server(pause_s: float):  # type: ignore[no-untyped-def]
    """The server's URL; its process ends with the block."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serving, args=(theirs, pause_s), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()


@contextlib.asynccontextmanager
async def bare(url: str, streams: int) -> AsyncIterator[Read]:
    """The yardstick: httpx and a loop that throws the bytes away."""
    async with httpx.AsyncClient(base_url=url, trust_env=False, verify=False, timeout=60) as client:

        async def read() -> int:
            async with client.stream("POST", CHAT_PATH, content=b"{}") as response:
                async for _ in response.aiter_raw():
                    pass
            return 0

        yield read


@contextlib.asynccontextmanager
async def stamped(url: str, streams: int) -> AsyncIterator[Read]:
    """httpx through `stream_chat`: stamps, and the bytes kept."""
    async with open_client(url, connections=streams) as client:

        async def read() -> int:
            return len([piece async for piece in stream_chat(client, {})])

        yield read


@contextlib.asynccontextmanager
async def judged(url: str, streams: int) -> AsyncIterator[Read]:
    """All that a session does with a response."""
    dealt, bodies, gauge = cards(), Bodies(), Gauge()
    script = dealt.scripts[0]
    turn = turns(script)[1]
    sending = wire_sender(target(url), bodies.take, ahead=streams, deadline_s=60.0, stall_s=60.0)
    async with sending as send:
        asker = Asker(send, bodies)

        async def read() -> int:
            raw = await asker.ask({}, 60.0, gauge)
            answer = answer_of(raw)
            raw.reads.clear()
            judgement = judge_turn(script, turn, answer, dealt.registry, max_tokens=MAX_TOKENS)
            if judgement.defects or answer.end != "complete":
                raise RuntimeError(f"{answer.end}: {judgement.defects}")
            return judgement.reply.chunks

        yield read


WAYS = {"bare httpx read loop": bare, "httpx, stamped and kept": stamped, "wire, assembled, judged": judged}


async def cost_us(
    way: Callable[..., contextlib.AbstractAsyncContextManager[Read]], url: str, streams: int, responses: int
) -> float:
    """CPU of this process per chunk, in microseconds."""
    async with way(url, streams) as read:
        await read()
        begun = time.process_time()
        await asyncio.gather(*(_several(read, responses) for _ in range(streams)))
        return (time.process_time() - begun) / (streams * responses * len(chunks())) * 1e6


async def _several(read: Read, responses: int) -> None:
    for _ in range(responses):
        await read()


def main() -> None:
    streams, responses = (int(arg) for arg in (*sys.argv[1:], "40", "3")[:2])
    say = sys.stdout.write
    for pause_s, what in (
        (0.01, "one chunk a read, 10 ms apart"),
        (0.0, "as fast as it goes: reads coalesce"),
    ):
        with server(pause_s) as url:
            say(f"{what}; {streams} streams × {responses} responses × {len(chunks())} chunks\n")
            costs = {name: asyncio.run(cost_us(way, url, streams, responses)) for name, way in WAYS.items()}
        yardstick = costs["bare httpx read loop"]
        for name, cost in costs.items():
            say(
                f"  {name:<28}{cost:7.1f} µs a chunk  × {cost / yardstick:.2f} (at most {ALLOWED} is allowed)\n"
            )
    with server(0.0) as url:
        for rounds in (5, 20, 80):
            asyncio.run(cost_us(judged, url, streams, rounds))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            say(f"peak memory after {streams} sessions of {rounds} responses: {peak:.0f} MiB\n")


if __name__ == "__main__":
    main()
