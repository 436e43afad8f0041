"""The HTTP face of a worker: SGLang's paths, as a router and a client use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web
from aiohttp.http import HttpVersion11

from runbook.lab.model.counters import render_metrics
from runbook.lab.model.request import RefusedRequestError, parse_request

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from runbook.lab.model.engine import Engine
    from runbook.lab.model.request import ChatRequest
    from runbook.lab.model.rooms import Prefilled

VERSION = "runbook-lab"
_MAX_BODY_BYTES = 16 * 1024 * 1024
_MODES = {"prefill": "prefill", "decode": "decode", "single": "null"}


class Endpoint:
    """The routes of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def application(self) -> web.Application:
        """An aiohttp application; bodies over 16 MiB are refused."""
        application = web.Application(client_max_size=_MAX_BODY_BYTES)
        for path in ("/health", "/health_generate"):
            application.router.add_get(path, self.health)
        for path in ("/server_info", "/get_server_info"):
            application.router.add_get(path, self.server_info)
        for path in ("/model_info", "/get_model_info"):
            application.router.add_get(path, self.model_info)
        application.router.add_get("/v1/models", self.models)
        application.router.add_get("/metrics", self.metrics)
        application.router.add_post("/v1/chat/completions", self.chat)
        return application

    async def health(self, _: web.Request) -> web.Response:
        """200 once the model is loaded and while it serves; 503 while starting and draining."""
        return web.Response(status=200 if self._engine.healthy else 503)

    async def server_info(self, _: web.Request) -> web.Response:
        """The resolved arguments, and what of its environment the process read (`environ`)."""
        serving, counters = self._engine.serving, self._engine.counters
        resolved = {
            **self._model(),
            "host": serving.host,
            "port": serving.port,
            "tp_size": 1,
            "dp_size": 1,
            "disaggregation_mode": _MODES[serving.role],
            "disaggregation_bootstrap_port": serving.bootstrap_port,
            "max_running_requests": self._engine.max_running,
            "disable_cuda_graph": serving.disable_cuda_graph,
            "started_at": self._engine.started_at,
            "version": VERSION,
            "environ": dict(self._engine.switches.shown),
            "internal_states": [{"num_running_reqs": counters.running, "num_queue_reqs": counters.queued}],
        }
        return web.json_response(resolved)

    async def model_info(self, _: web.Request) -> web.Response:
        return web.json_response({**self._model(), "is_generation": True})

    async def models(self, _: web.Request) -> web.Response:
        card = {
            "id": self._engine.serving.served_model_name,
            "object": "model",
            "created": int(self._engine.started_at),
            "owned_by": VERSION,
        }
        return web.json_response({"object": "list", "data": [card]})

    async def metrics(self, _: web.Request) -> web.Response:
        serving = self._engine.serving
        text = render_metrics(self._engine.counters, model=serving.served_model_name, role=serving.role)
        return web.Response(text=text)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """`POST /v1/chat/completions`; errors are OpenAI error objects."""
        try:
            parsed = parse_request(await _body(request), self._engine.serving.served_model_name)
            prefilled = await self._engine.prefill(parsed)
            return await (self._streamed if parsed.stream else self._whole)(request, parsed, prefilled)
        except RefusedRequestError as refused:
            return web.json_response(refused.body, status=refused.status)

    async def _whole(self, request: web.Request, parsed: ChatRequest, prefilled: Prefilled) -> web.Response:
        said: list[bytes] = []

        def send(piece: bytes) -> bool:
            said.append(piece)
            return _connected(request)

        sequence = self._engine.sequence(parsed, prefilled, send)
        self._engine.start(parsed, prefilled, sequence)
        if not await sequence.done:
            self._engine.counters.aborted += 1
            return web.Response(status=503)
        return web.Response(body=b"".join(said), content_type="application/json")

    async def _streamed(
        self, request: web.Request, parsed: ChatRequest, prefilled: Prefilled
    ) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
        )
        chunked = request.version >= HttpVersion11
        if chunked:
            response.enable_chunked_encoding()
        sequence = self._engine.sequence(parsed, prefilled, _sink(request, chunked=chunked))
        await response.prepare(request)
        self._engine.start(parsed, prefilled, sequence)
        if not await sequence.done:
            self._engine.counters.aborted += 1
            _cut(request)
        return response

    def _model(self) -> dict[str, Any]:
        serving = self._engine.serving
        return {"model_path": serving.model_path, "served_model_name": serving.served_model_name}


async def _body(request: web.Request) -> bytes:
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise RefusedRequestError(413, error.text or "The body is too large") from None


def _connected(request: web.Request) -> bool:
    return request.transport is not None and not request.transport.is_closing()


def _sink(request: web.Request, *, chunked: bool) -> Callable[[bytes], bool]:
    """Writes straight to the connection, framed as HTTP chunks.

    `StreamResponse.write` needs a task switch for every piece, which costs more than all the rest of a token.
    """
    transport: asyncio.WriteTransport | None = request.transport

    def send(piece: bytes) -> bool:
        if transport is None or transport.is_closing():
            return False
        transport.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        return True

    return send


def _cut(request: web.Request) -> None:
    """Close without the end of the body, as a dying server does."""
    if request.transport is not None:
        request.transport.abort()
