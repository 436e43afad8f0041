"""A small prefill/decode router for machines that sglang-router has no wheel for: `python -m runbook.lab.standin_router`.

It takes the real one's command line (what it does not know it leaves alone) and does what the lab needs of it: each
completion goes to prefill and decode at once with `bootstrap_host`, `bootstrap_port` and `bootstrap_room` added, and
decode's answer goes back as it comes. No retries and no circuit breaker: a worker that is down is a 503 at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Sequence

_PASSED = ("Content-Type",)
_BODY_LIMIT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Pair:
    """URLs of the two workers; `bootstrap_port` is prefill's."""

    prefill: str
    bootstrap_port: int
    decode: str


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="runbook.lab.standin_router", allow_abbrev=False)
    parser.add_argument("--prefill", nargs=2, required=True, metavar=("URL", "BOOTSTRAP"))
    parser.add_argument("--decode", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=30000)
    found, _ = parser.parse_known_args(argv)
    prefill, bootstrap = found.prefill
    pair = Pair(prefill.rstrip("/"), int(bootstrap), found.decode.rstrip("/"))
    web.run_app(application(pair), host=found.host, port=found.port, print=None, access_log=None)
    return 0


def application(pair: Pair) -> web.Application:
    """The router as an aiohttp application."""
    router = _Router(pair)
    app = web.Application(client_max_size=_BODY_LIMIT_BYTES)
    app.cleanup_ctx.append(router.session)
    app.router.add_get("/health", _health)
    app.router.add_get("/v1/models", router.models)
    for path in ("/v1/chat/completions", "/v1/completions", "/generate"):
        app.router.add_post(path, router.complete)
    return app


async def _health(request: web.Request) -> web.Response:
    return web.Response(text="OK")


class _Router:
    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._client: aiohttp.ClientSession

    async def session(self, app: web.Application) -> Any:
        """The client's life is the application's."""
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
        async with aiohttp.ClientSession(
            connector=connector, timeout=timeout, trust_env=False
        ) as self._client:
            yield

    async def models(self, request: web.Request) -> web.StreamResponse:
        try:
            async with self._client.get(f"{self._pair.decode}/v1/models") as answer:
                return web.Response(body=await answer.read(), status=answer.status, headers=_passed(answer))
        except (aiohttp.ClientError, TimeoutError) as error:
            return _unavailable(error)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """Both workers get the request; the client gets decode's answer."""
        try:
            body = {**json.loads(await request.read()), **self._room()}
        except (ValueError, TypeError):
            return web.json_response(
                {"error": {"message": "the body is no JSON object", "code": 400}}, status=400
            )
        prefill = asyncio.create_task(self._prefill(request.path, body))
        try:
            answer = await self._client.post(f"{self._pair.decode}{request.path}", json=body)
        except (aiohttp.ClientConnectionError, TimeoutError) as error:
            prefill.cancel()
            return _unavailable(error)
        try:
            async with answer:
                return await _relay(request, answer)
        finally:
            prefill.cancel()

    def _room(self) -> dict[str, Any]:
        return {
            "bootstrap_host": "127.0.0.1",
            "bootstrap_port": self._pair.bootstrap_port,
            "bootstrap_room": secrets.randbits(62),
        }

    async def _prefill(self, path: str, body: dict[str, Any]) -> None:
        """Prefill's answer is read to its end and is nobody's business; that it failed shows in decode's."""
        try:
            async with self._client.post(f"{self._pair.prefill}{path}", json=body) as answer:
                async for _ in answer.content.iter_any():
                    pass
        except (aiohttp.ClientError, TimeoutError) as error:
            sys.stderr.write(f"prefill at {self._pair.prefill}: {error}\n")


async def _relay(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    relayed = web.StreamResponse(status=answer.status, headers=_passed(answer))
    await relayed.prepare(request)
    async for chunk in answer.content.iter_any():
        await relayed.write(chunk)
    await relayed.write_eof()
    return relayed


def _passed(answer: aiohttp.ClientResponse) -> dict[str, str]:
    return {name: answer.headers[name] for name in _PASSED if name in answer.headers}


def _unavailable(error: Exception) -> web.Response:
    message = f"No worker available: {error}"
    return web.json_response({"error": {"message": message, "code": 503}}, status=503)


if __name__ == "__main__":
    sys.exit(main())
