from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from aiohttp import web

from runbook.lab.standin_router import Pair, application
from runbook.lab.state import choose_ports

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = pytest.mark.real

CHAT = "/v1/chat/completions"


class Worker:
    """A worker that remembers what it was asked, and streams three events."""

    def __init__(self, status: int = 200, *, breaks: bool = False) -> None:
        self.asked: list[dict[str, Any]] = []
        self._status = status
        self._breaks = breaks

    async def chat(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        answer = web.StreamResponse(status=self._status, headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        await answer.write("data: ｜▁\n\n".encode())
        if self._breaks:
            assert request.transport
            request.transport.abort()
        await answer.write(b"data: [DONE]\n\n")
        return answer

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_post(CHAT, self.chat)
        app.router.add_get("/v1/models", _models)
        return app


async def _models(request: web.Request) -> web.Response:
    return web.json_response({"data": [{"id": "m"}]})


async def _serve(app: web.Application, port: int) -> web.AppRunner:
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    return runner


def through(
    prefill: Worker | None,
    decode: Worker | None,
    talk: Callable[[aiohttp.ClientSession, str], Awaitable[None]],
) -> None:
    """Run `talk` against a router in front of the workers; None is one that is down."""
    ports = choose_ports(("prefill", "decode", "router"), {})

    async def run() -> None:
        workers = {"prefill": prefill, "decode": decode}
        runners = [await _serve(one.application(), ports[role]) for role, one in workers.items() if one]
        urls = {role: f"http://127.0.0.1:{ports[role]}" for role in ports}
        pair = Pair(urls["prefill"], 8998, urls["decode"])
        runners.append(await _serve(application(pair), ports["router"]))
        try:
            async with aiohttp.ClientSession(trust_env=False) as client:
                await talk(client, urls["router"])
        finally:
            for runner in reversed(runners):
                await runner.cleanup()

    asyncio.run(run())


def test_both_workers_get_the_request_with_one_room_and_the_client_gets_decodes_stream() -> None:
    prefill, decode = Worker(), Worker()

    async def talk(client: aiohttp.ClientSession, url: str) -> None:
        async with client.post(url + CHAT, json={"model": "m", "stream": True}) as answer:
            assert answer.status == 200
            assert answer.headers["Content-Type"] == "text/event-stream"
            assert await answer.text() == "data: ｜▁\n\ndata: [DONE]\n\n"

    through(prefill, decode, talk)
    assert prefill.asked == decode.asked
    (body,) = decode.asked
    assert (body["model"], body["bootstrap_host"], body["bootstrap_port"]) == ("m", "127.0.0.1", 8998)
    assert 0 <= body["bootstrap_room"] < 2**62


def test_a_decode_that_is_down_is_a_503_at_once() -> None:
    async def talk(client: aiohttp.ClientSession, url: str) -> None:
        async with client.post(url + CHAT, json={}) as answer:
            assert answer.status == 503
            assert json.loads(await answer.text())["error"]["code"] == 503

    through(Worker(), None, talk)


def test_decodes_own_error_goes_through() -> None:
    async def talk(client: aiohttp.ClientSession, url: str) -> None:
        async with client.post(url + CHAT, json={}) as answer:
            assert answer.status == 418

    through(Worker(), Worker(418), talk)


def test_a_stream_that_decode_breaks_off_is_broken_off_here_too() -> None:
    async def talk(client: aiohttp.ClientSession, url: str) -> None:
        async with client.post(url + CHAT, json={}) as answer:
            with pytest.raises(aiohttp.ClientPayloadError):
                await answer.read()

    through(Worker(), Worker(breaks=True), talk)


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"\xff"])
def test_a_body_that_is_no_object_is_refused_and_reaches_nobody(body: bytes) -> None:
    prefill, decode = Worker(), Worker()

    async def talk(client: aiohttp.ClientSession, url: str) -> None:
        async with client.post(url + CHAT, data=body) as answer:
            assert answer.status == 400

    through(prefill, decode, talk)
    assert prefill.asked == decode.asked == []


def test_models_are_decodes_and_health_is_its_own() -> None:
    async def talk(client: aiohttp.ClientSession, url: str) -> None:
        async with client.get(f"{url}/v1/models") as answer:
            assert (await answer.json())["data"] == [{"id": "m"}]
        async with client.get(f"{url}/health") as answer:
            assert answer.status == 200

    through(None, Worker(), talk)
