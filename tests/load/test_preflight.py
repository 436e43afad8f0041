"""Before any load: what speaks HTTP and is no chat server is told apart, within bounds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
import pytest

from runbook.load import preflight as module
from runbook.load.address import CHAT_PATH
from runbook.load.client import open_client
from runbook.load.preflight import MAX_BYTES, PreflightFailed, preflight, why_dead
from tests.load.test_control import OPTIONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    Respond = Callable[[httpx.Request], httpx.Response]

CHAT = {"choices": [{"message": {"content": "yes"}}]}
MODELS = {"data": [{"id": "m"}]}


class Endless(httpx.AsyncByteStream):
    """A body without end; counts what was read of it."""

    def __init__(self, chunk: bytes = b"x" * 65536, pause_s: float = 0.0) -> None:
        self.chunk, self.pause_s, self.read, self.closed = chunk, pause_s, 0, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(self.pause_s)
            self.read += len(self.chunk)
            yield self.chunk

    async def aclose(self) -> None:
        self.closed = True


def chatting(chat: httpx.Response, models: httpx.Response | None = None) -> Respond:
    def respond(request: httpx.Request) -> httpx.Response:
        return chat if request.url.path == CHAT_PATH else models or httpx.Response(200, json=MODELS)

    return respond


def asked(respond: Respond) -> PreflightFailed | None:
    """Why a run against this server may not begin; None when it may."""

    async def body() -> None:
        async with open_client(
            OPTIONS.base_url, connections=2, transport=httpx.MockTransport(respond)
        ) as client:
            await preflight(client, OPTIONS)

    try:
        asyncio.run(body())
    except PreflightFailed as refused:
        return refused
    return None


@pytest.mark.parametrize(
    "models",
    [
        httpx.Response(200, json=MODELS),
        httpx.Response(200, json={"data": [{"id": "short", "root": "m"}]}),
        httpx.Response(404, text="not here"),
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=["m"]),
        httpx.Response(200, json={"data": None}),
        httpx.Response(200, json={"data": 10**30}),
        httpx.Response(200, json={"data": {"id": "m"}}),
        httpx.Response(200, text="[" * 100_000),
    ],
)
def test_a_server_that_chats_may_be_loaded_whatever_it_says_of_its_models(models: httpx.Response) -> None:
    assert asked(chatting(httpx.Response(200, json=CHAT), models)) is None


NO_CHAT = {
    "a page": (
        httpx.Response(200, text="<html>hello</html>"),
        2,
        "no chat completion but '<html>hello</html>'",
    ),
    "another API": (httpx.Response(200, json={"ok": True}), 2, "no chat completion"),
    "a list": (httpx.Response(200, json=[1]), 2, "no chat completion"),
    "deep nonsense": (httpx.Response(200, text="[" * 100_000), 2, "no chat completion"),
    "a redirect": (
        httpx.Response(308, headers={"location": "https://gpu1.example.net/"}),
        2,
        "HTTP 308, sent on to https://gpu1.example.net/",
    ),
    "nothing": (httpx.Response(204), 3, "HTTP 204 to a chat"),
    "a teapot": (httpx.Response(418, text="short\nand\nstout"), 2, "short and stout"),
}


@pytest.mark.parametrize("name", sorted(NO_CHAT))
def test_what_is_no_chat_server_is_one_line(name: str) -> None:
    chat, exit_code, message = NO_CHAT[name]
    refused = asked(chatting(chat))
    assert refused is not None
    assert message in str(refused)
    assert "\n" not in str(refused)
    assert refused.exit_code == exit_code


def test_an_answer_without_end_is_left_early() -> None:
    body = Endless()
    refused = asked(chatting(httpx.Response(200, stream=body)))
    assert refused is not None
    assert body.closed
    assert body.read <= MAX_BYTES + 2 * len(body.chunk)


@pytest.mark.real
def test_an_answer_that_drips_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHAT_S", 0.2)
    refused = asked(chatting(httpx.Response(200, stream=Endless(b"x", pause_s=0.05))))
    assert refused is not None
    assert refused.exit_code == 3


@pytest.mark.real
def test_a_server_that_drips_after_the_run_counts_as_dead() -> None:
    async def body() -> str:
        stream = Endless(b"x", pause_s=0.05)
        transport = httpx.MockTransport(chatting(httpx.Response(200, stream=stream)))
        async with open_client(OPTIONS.base_url, connections=2, transport=transport) as client:
            return await why_dead(client, OPTIONS, 0.2)

    assert asyncio.run(body()) == "no chat after the run: TimeoutError"
