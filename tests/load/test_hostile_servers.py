"""Servers that send without end, or so that reading costs more than sending: bounded memory, an end, and no pass."""

from __future__ import annotations

import asyncio
import itertools
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import httpx
import pytest

from runbook.load.bench.http1 import FramingError, read_response
from runbook.load.bench.request import RawStream
from runbook.load.bench.senders import httpx_sender
from runbook.load.client import open_client
from runbook.load.outcome import Outcome
from tests.faultserver.server import Behaviour, FaultServer
from tests.load.test_framing import CHUNKED, HEAD, chunk
from tests.load.test_run import OPTIONS, validated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from runbook.load.results import SessionsResult

pytestmark = pytest.mark.real

SMALL = replace(OPTIONS, sessions=1, max_tokens=100, early_stop=False)  # 1.4 MiB may come of an answer
LENGTH = HEAD + b"content-length: 999999999\r\n\r\n"
EVENT = b'data: {"choices": [{"index": 0, "delta": {"content": "on and on "}}]}\n\n'


def without_end(first: bytes, piece: bytes) -> Behaviour:
    def framed(stream: bytes) -> Sequence[bytes]:
        return cast("Sequence[bytes]", itertools.chain([first], itertools.repeat(piece)))

    return Behaviour(framed=framed)


ENDLESS = {
    "events": (CHUNKED, chunk(EVENT * 50)),
    "a line": (CHUNKED, chunk(b"x" * 65536)),
    "the size of a chunk": (CHUNKED, b"1" * 65536),
    "a body that has a length": (LENGTH, b"x" * 65536),
    "a body without one": (HEAD + b"\r\n", b": comment\n" * 6000),
    "ends that are none": (CHUNKED, chunk(b"data: x\r\n0;\r\n")),
    "an end behind what is no chunk": (CHUNKED, b"zz\r\n0;\r\n\r\n"),
    "a head": (HEAD, b"x-more: and more\r\n" * 3000),
    "the tiniest chunks": (CHUNKED, chunk(b"x")),
}


def run(behaviour: Behaviour) -> tuple[SessionsResult, int]:
    """The run's result and the most memory that was ours in it."""

    async def body() -> tuple[SessionsResult, int]:
        async with FaultServer(lambda request: behaviour).serving() as server:
            tracemalloc.start()
            try:
                return await validated(server, SMALL), tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    return asyncio.run(body())


@pytest.mark.parametrize("name", sorted(ENDLESS))
def test_what_never_ends_takes_bounded_memory_and_is_no_pass(name: str) -> None:
    found, peak = run(without_end(*ENDLESS[name]))
    assert found.outcome is not Outcome.PASS
    assert set(found.counts) <= {"abort", "error", "flood"}, found.counts
    assert peak < 40 << 20, f"{peak >> 20} MiB"


def test_an_answer_over_tls_is_bounded_as_well() -> None:
    async def forever() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 65536

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=forever())

    async def body() -> RawStream:
        async with open_client(
            "https://gpu1.example.net", connections=1, transport=httpx.MockTransport(answer)
        ) as client:
            raw = RawStream(0)
            await httpx_sender(client, lambda index: {"max_tokens": 100}, deadline_s=60)(raw)
            return raw

    raw = asyncio.run(body())
    assert (raw.failure, raw.detail) == ("badstream", "more than 1424 KiB in one answer")


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (CHUNKED + b"1" * 5000, "no end of a chunk's size in 5000 bytes"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000, "no end of the response head"),
    ],
)
def test_no_part_of_the_framing_is_waited_for_without_end(stream: bytes, why: str) -> None:
    with pytest.raises(FramingError, match=why):
        read_response([(0.0, stream)])


def test_a_head_that_drips_is_read_once_and_an_answer_with_a_length_not_with_every_drop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from runbook.load.bench import arriving

    readings: list[int] = []

    def counted(reads: Any) -> Any:
        readings.append(len(reads))
        return read_response(reads)

    monkeypatch.setattr(arriving, "read_response", counted)

    def dripping(stream: bytes) -> list[bytes]:
        whole = HEAD + b"content-length: %d\r\n\r\n%s" % (len(stream), stream)
        return [whole[at : at + 1] for at in range(len(whole))]

    async def body() -> SessionsResult:
        behaviour = Behaviour(framed=dripping)
        async with FaultServer(lambda request: behaviour).serving() as server:
            return await validated(server, replace(OPTIONS, sessions=1))

    found = asyncio.run(body())
    assert found.counts == {"maxrounds": 1}
    assert 0 < len(readings) <= 4 * 3, "once a request or so"
