"""Streaming with httpx: what sessions over https and the bench's preflight use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from runbook.load.client import NotAStreamError, StatusError, open_client, stream_chat
from tests.faultserver.server import Behaviour, FaultServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

BODY = {"stream": True, "messages": []}
MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": "Round 1 of 1. The key is aaaa-bbbb-cccc."}]


class Once(httpx.AsyncByteStream):
    """A body that is still to be read."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


def answer(status: int, kind: str, body: bytes) -> httpx.Response:
    return httpx.Response(status, headers={"content-type": kind}, stream=Once(body))


def answering(respond: Callable[[httpx.Request], httpx.Response]) -> httpx.AsyncClient:
    return open_client("http://gpu1.example.net/v1", connections=4, transport=httpx.MockTransport(respond))


async def streamed(client: httpx.AsyncClient) -> bytes:
    async with client:
        return b"".join([data async for _, data in stream_chat(client, BODY)])


def events(request: httpx.Request) -> httpx.Response:
    return answer(200, "text/event-stream; charset=utf-8", b"data: x\n\n")


def test_the_bytes_come_as_they_are() -> None:
    assert asyncio.run(streamed(answering(events))) == b"data: x\n\n"


def test_the_url_is_the_same_with_and_without_v1() -> None:
    seen: list[str] = []

    def respond(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return events(request)

    asyncio.run(streamed(answering(respond)))
    assert seen == ["http://gpu1.example.net/v1/chat/completions"]


def test_another_status_is_an_error_with_the_start_of_its_body() -> None:
    with pytest.raises(StatusError, match="HTTP 429: slow down") as caught:
        asyncio.run(
            streamed(answering(lambda request: answer(429, "text/plain", b"slow down" + b"!" * 10_000)))
        )
    assert caught.value.status == 429
    assert len(caught.value.body) == 2000


def test_a_body_that_is_no_event_stream_is_an_error() -> None:
    with pytest.raises(NotAStreamError, match="expected text/event-stream, found 'application/json'"):
        asyncio.run(streamed(answering(lambda request: answer(200, "application/json", b"{}"))))


def test_the_key_goes_along_and_is_not_in_the_clients_repr() -> None:
    client = open_client("http://192.0.2.1", api_key="secret", connections=1)
    assert client.headers["authorization"] == "Bearer secret"
    assert "secret" not in repr(client.headers)


@pytest.mark.real
def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    async def body() -> bytes:
        async with FaultServer(lambda request: Behaviour(stream=b"data: y\n\n")).serving() as server:
            return await streamed(open_client(server.url, connections=1))

    assert asyncio.run(body()) == b"data: y\n\n"


@pytest.mark.real
def test_more_streams_than_httpx_pools_by_default_run_at_once() -> None:
    async def body() -> int:
        async with FaultServer(lambda request: Behaviour(pieces=4, pause_s=0.05)).serving() as server:
            peak = 0
            async with open_client(server.url, connections=120) as client:

                async def one() -> None:
                    nonlocal peak
                    async for _ in stream_chat(client, {"stream": True, "messages": MESSAGES}):
                        peak = max(peak, server.busy)

                await asyncio.gather(*(one() for _ in range(120)))
            return peak

    assert asyncio.run(body()) > 100
