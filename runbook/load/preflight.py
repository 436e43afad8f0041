"""Before any load: is somebody there, does the key open, is the model offered, does one chat work?"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httpx

from runbook.load import unconnected
from runbook.load.address import CHAT_PATH, root
from runbook.load.models import MODELS_PATH, names

if TYPE_CHECKING:
    from runbook.load.options import Options

_MODELS_S, _CHAT_S = 10.0, 60.0
_SHOWN = 12
MAX_BYTES = 1 << 20
"""More than a list of models or a chat of one token ever is; the rest of an answer is not read."""
# On Python 3.10 asyncio's TimeoutError is not the builtin one.
_UNANSWERED = (httpx.HTTPError, asyncio.TimeoutError)


class PreflightFailed(Exception):
    """The run cannot begin; one line. `exit_code` 2: ask differently; 3: nobody answered."""

    def __init__(self, message: str, exit_code: int) -> None:
        self.exit_code = exit_code
        super().__init__(message)


class NobodyThere(PreflightFailed):
    """The address cannot be connected to: no server was asked anything."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"{url}: cannot be reached: {why}", 3)


async def preflight(client: httpx.AsyncClient, options: Options) -> None:
    """Ask for the models, then for one token. Raises PreflightFailed."""
    try:
        models = await _bounded(client, client.build_request("GET", MODELS_PATH), _MODELS_S)
        _expect_key(options, models)
        _expect_model(options, _offered(models))
        chat = await one_chat(client, options, _CHAT_S)
        _expect_answer(options, chat)
        _expect_chat(options, chat)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise PreflightFailed(f"--base-url {options.base_url}: {error}", 2) from error
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise NobodyThere(options.base_url, unconnected.why(error)) from error
    except _UNANSWERED as error:
        detail = str(error) or type(error).__name__
        raise PreflightFailed(f"{options.base_url}: no answer: {detail[:200]}", 3) from error


async def one_chat(client: httpx.AsyncClient, options: Options, timeout_s: float) -> httpx.Response:
    """The smallest chat: one token, not streamed; within the time, whatever the server sends how slowly."""
    messages = [{"role": "user", "content": "Say yes."}]
    body = {"model": options.model, "messages": messages, "max_tokens": 1, "stream": False}
    return await _bounded(client, client.build_request("POST", CHAT_PATH, json=body), timeout_s)


async def _bounded(client: httpx.AsyncClient, request: httpx.Request, timeout_s: float) -> httpx.Response:
    """The answer with the start of its body. httpx's own time limits are per read, this one is of the whole."""
    return await asyncio.wait_for(_start_of(client, request), timeout_s)


async def _start_of(client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    response = await client.send(request, stream=True)
    body = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_BYTES:
                break
    finally:
        await response.aclose()
    headers = {
        name: response.headers[name] for name in ("content-type", "location") if name in response.headers
    }
    return httpx.Response(response.status_code, headers=headers, content=bytes(body[:MAX_BYTES]))


async def why_dead(client: httpx.AsyncClient, options: Options, timeout_s: float = 15.0) -> str:
    """Why the server counts as dead now; empty while it still answers a chat, or still says 4xx."""
    try:
        answer = await one_chat(client, options, timeout_s)
    except _UNANSWERED as error:
        return f"no chat after the run: {str(error) or type(error).__name__}"[:200]
    return f"HTTP {answer.status_code} to a chat after the run" if answer.status_code >= 500 else ""


def _offered(answer: httpx.Response) -> tuple[str, ...]:
    try:
        return names(json.loads(answer.content)) if answer.status_code == 200 else ()
    except (ValueError, RecursionError):
        return ()


def _expect_key(options: Options, answer: httpx.Response) -> None:
    if answer.status_code in (401, 403):
        what = f"HTTP {answer.status_code}: {_line(answer)}"
        raise PreflightFailed(
            f"{options.base_url}: {what}; name the variable that holds the key with --api-key-env", 2
        )


def _expect_model(options: Options, models: tuple[str, ...]) -> None:
    if models and options.model not in models:
        listed = ", ".join(" ".join(name.split())[:80] for name in models[:_SHOWN])
        raise PreflightFailed(
            f"{options.base_url}: no model {options.model!r}; /v1/models offers {listed}", 2
        )


def _expect_answer(options: Options, answer: httpx.Response) -> None:
    _expect_key(options, answer)
    status = answer.status_code
    if 400 <= status < 500 and status != 429:
        raise PreflightFailed(
            f"{root(options.base_url)}{CHAT_PATH}: HTTP {status} to a chat with {options.model!r}: {_line(answer)}",
            2,
        )
    if 300 <= status < 400:
        where = answer.headers.get("location", "elsewhere")[:200]
        raise PreflightFailed(f"{options.base_url}: HTTP {status}, sent on to {where}: ask there", 2)
    if status != 200:
        raise PreflightFailed(
            f"{options.base_url}: HTTP {status} to a chat before any load: {_line(answer)}", 3
        )


def _expect_chat(options: Options, answer: httpx.Response) -> None:
    """A 200 may come from anything that speaks HTTP."""
    try:
        document: Any = json.loads(answer.content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("choices"), list):
        raise PreflightFailed(f"{options.base_url}: no chat completion but {_line(answer)!r}", 2)


def _line(answer: httpx.Response) -> str:
    text = answer.content[:300].decode("utf-8", "replace")
    return " ".join(text.split())[:160] or answer.reason_phrase
