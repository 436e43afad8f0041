"""Whether the lab's servers answer: the workers' health first, then one chat through the router."""

from __future__ import annotations

import functools
import json
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runbook.lab.state import LabState

_BUDGET_S = 30.0
_MODEL = "deepseek-v4-flash"


def await_serving(lab: LabState) -> Iterator[str]:
    """Wait until chat works; yields a line about what does not answer within the budget.

    Workers come first: a chat sent while one is down opens the router's circuit breaker.
    """
    until = time.monotonic() + _BUDGET_S
    for role in ("prefill", "decode"):
        if not _until(until, functools.partial(_healthy, lab.ports[role])):
            yield f"the lab's {role} on port {lab.ports[role]} does not answer /health; see its journal"
            return
    if not _until(until, functools.partial(_chats, lab.ports["router"])):
        yield f"no chat through the lab's router on port {lab.ports['router']}; see its journal"


def _healthy(port: int) -> bool:
    return _status(port, "GET", "/health") == 200


def _chats(port: int) -> bool:
    return _status(port, "POST", "/v1/chat/completions", _chat()) == 200


def _chat() -> bytes:
    message = {"role": "user", "content": "ping"}
    return json.dumps({"model": _MODEL, "messages": [message], "max_tokens": 1}).encode()


def _until(deadline: float, holds: Callable[[], bool]) -> bool:
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _status(port: int, method: str, path: str, body: bytes | None = None) -> int:
    """HTTP status; 0 where there was no answer."""
    import http.client  # a running lab, which every command meets, needs none of it

    link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        link.request(method, path, body, {"Content-Type": "application/json"})
        return link.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        link.close()
