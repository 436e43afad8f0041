"""Does a real chat completion come back through the endpoint users call?

A router answers 200 on `/health` with no worker registered, so only a completion counts.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from runbook.onhost.masking import MASK
from runbook.probes import Sample
from runbook.text import one_line
from runbook.tunnel import TunnelError, bearing

if TYPE_CHECKING:
    from runbook.tunnel import Response, Tunnel

# Answers of the endpoint that no waiting mends: the request itself is wrong.
_CONFIGURATION = {
    400: "request refused",
    401: "key refused",
    403: "key refused",
    404: "model or path unknown",
    422: "request refused",
}

_LISTED = 8  # models named in a message


def ask(
    tunnel: Tunnel, url: str, model: str, *, max_tokens: int, timeout_s: float, api_key: str | None = None
) -> Sample:
    """One chat completion of at most `max_tokens` tokens."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": "Say: ready."}],
        "max_tokens": max_tokens,
        "temperature": 0,
        "stream": False,
    }
    try:
        response = tunnel.post_json(
            f"{url.rstrip('/')}/v1/chat/completions", body, deadline_s=timeout_s, headers=bearing(api_key)
        )
    except TunnelError as error:
        return Sample(False, str(error))
    return judge(_without(response, api_key))


def _without(response: Response, api_key: str | None) -> Response:
    """The answer without the key, which a server that refuses it may quote."""
    if not api_key:
        return response
    return dataclasses.replace(response, body=response.body.replace(api_key.encode(), MASK.encode()))


def served(tunnel: Tunnel, url: str, *, timeout_s: float, api_key: str | None = None) -> list[str]:
    """The model names the endpoint lists; empty where it lists none."""
    try:
        answer = tunnel.get(f"{url.rstrip('/')}/v1/models", deadline_s=timeout_s, headers=bearing(api_key))
        names = [str(model["id"]) for model in json.loads(answer.body)["data"]]
    except (TunnelError, ValueError, LookupError, TypeError, RecursionError):
        return []
    return [one_line(name, 100) for name in names[:_LISTED]]


def judge(response: Response) -> Sample:
    """A completion with at least one token holds; 4xx about the request itself is final."""
    if response.status in _CONFIGURATION:
        return Sample(
            False,
            f"HTTP {response.status}: {_CONFIGURATION[response.status]}: {_excerpt(response.body)}",
            final=True,
        )
    if response.status != 200:
        return Sample(False, f"HTTP {response.status}: {_excerpt(response.body)}")
    text = _completion(response.body)
    if text is None:
        return Sample(False, f"HTTP 200 without a completion: {_excerpt(response.body)}")
    return Sample(True, f"chat answered in {response.elapsed_s:.2f} s")


def _completion(body: bytes) -> str | None:
    """The text or reasoning of the first choice; None where there is none."""
    try:
        message: dict[str, Any] = json.loads(body)["choices"][0]["message"]
        text = message.get("content") or message.get("reasoning_content") or message.get("reasoning")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return text if isinstance(text, str) and text else None


def _excerpt(body: bytes) -> str:
    return body[:200].decode("utf-8", "replace").strip()
