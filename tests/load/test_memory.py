"""Memory stays flat in the length of a session: what was judged lies on disk, or nowhere."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runbook.load.ask import Asker, Bodies
from runbook.load.bench.request import RawStream
from runbook.load.bench.wire import target, wire_sender
from runbook.load.gauge import Gauge
from tests.faultserver.reply import encoded, events_of
from tests.faultserver.server import Behaviour, FaultServer, Request
from tests.load.test_run import OPTIONS, validated

if TYPE_CHECKING:
    from pathlib import Path

PADDING = b": " + b"x" * 1022 + b"\n\n"
STREAM_BYTES = 512 * 1024


def padded(request: Request, server: FaultServer) -> Behaviour:
    """The right stream, long by comments; the server keeps no body either."""
    server.bodies.clear()
    assert request.plan is not None
    filler = PADDING * (STREAM_BYTES // len(PADDING))
    return Behaviour(stream=filler + encoded(events_of(request.plan)), pieces=64)


def peak_bytes(rounds: int, streams: Path) -> tuple[int, int]:
    """Most memory that was ours at one moment of a run, and all that was streamed in it."""

    async def body() -> tuple[int, int]:
        async with FaultServer().serving() as server:
            server.choose = lambda request: padded(request, server)
            tracemalloc.start()
            result = await validated(server, replace(OPTIONS, sessions=2, rounds=rounds), streams)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert result.counts == {"maxrounds": 2}
        return peak, server.requests * STREAM_BYTES

    return asyncio.run(body())


@pytest.mark.real
def test_a_session_ten_times_as_long_needs_no_more_memory(tmp_path: Path) -> None:
    short, _ = peak_bytes(2, tmp_path / "short.gz")
    long, streamed = peak_bytes(20, tmp_path / "long.gz")
    assert streamed > 40 * 1024 * 1024
    # How many pieces lie in buffers at the peak is chance; ten times as much kept would be ten times as much.
    assert long < 2 * short, (short, long, streamed)


def requests_alive() -> int:
    gc.collect()
    return sum(type(one) is RawStream for one in gc.get_objects())


@pytest.mark.real
def test_a_request_that_is_over_is_forgotten_before_its_time_would_be_up() -> None:
    async def body() -> int:
        bodies = Bodies()
        async with FaultServer(lambda request: Behaviour(status=400)).serving() as server:
            sender = wire_sender(target(server.url), bodies.take, ahead=1, deadline_s=60.0, stall_s=60.0)
            async with sender as send:
                for _ in range(5):
                    await Asker(send, bodies).ask({"messages": [], "stream": True}, 60.0, Gauge())
                return requests_alive()

    assert asyncio.run(body()) == requests_alive()
