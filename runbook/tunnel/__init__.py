"""HTTP to a port of the host, through its SSH connection: no port is opened here and no proxy is obeyed."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from runbook.errors import TunnelCut, TunnelError, TunnelForbidden, TunnelRefused, TunnelTimeout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

__all__ = [
    "Opener",
    "Response",
    "Stream",
    "Tunnel",
    "TunnelCut",
    "TunnelError",
    "TunnelForbidden",
    "TunnelRefused",
    "TunnelTimeout",
    "bearing",
]

BODY_LIMIT_BYTES = (
    1024 * 1024
)  # of an answer; a health page, a chat completion or a metrics page is far smaller


class Stream(Protocol):
    """Bytes both ways, every wait bounded; errors are TunnelError."""

    def read(self, max_bytes: int, timeout_s: float) -> bytes: ...

    def write(self, content: bytes, timeout_s: float) -> None: ...

    def is_readable(self) -> bool: ...

    def close(self) -> None: ...


class Opener(Protocol):
    """The one thing of a link that is needed here."""

    def open_tcp(self, port: int, timeout_s: float, *, host: str = ...) -> Stream: ...


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer and how long it took from the first byte sent to the last received."""

    status: int
    body: bytes
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment by which a whole request must be over; httpx's own timeouts only bound a single read."""

    seconds: float
    ends_at: float
    clock: Callable[[], float]

    def left(self) -> float:
        """Seconds left; TunnelTimeout when there are none."""
        left = self.ends_at - self.clock()
        if left <= 0:
            raise TunnelTimeout(f"no whole answer within {self.seconds:g} s")
        return left


def bearing(api_key: str | None) -> dict[str, str]:
    """The headers that show an API key; none without one."""
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


class Tunnel(contextlib.AbstractContextManager["Tunnel"]):
    """Requests to ports of one host. Every request has a connection and a deadline of its own."""

    def __init__(self, link: Opener, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._link = link
        self._clock = clock

    def get(self, url: str, *, deadline_s: float, headers: Mapping[str, str] | None = None) -> Response:
        """GET `url` as the host sees it; TunnelError unless a whole answer comes within `deadline_s` seconds."""
        return self._request("GET", url, None, deadline_s, headers or {})

    def post_json(
        self, url: str, body: Any, *, deadline_s: float, headers: Mapping[str, str] | None = None
    ) -> Response:
        """POST `body` as JSON; otherwise as `get`."""
        content = json.dumps(body).encode()
        return self._request(
            "POST", url, content, deadline_s, {"Content-Type": "application/json", **(headers or {})}
        )

    def _request(
        self, method: str, url: str, content: bytes | None, deadline_s: float, headers: Mapping[str, str]
    ) -> Response:
        from runbook.tunnel.transport import exchange

        started = self._clock()
        deadline = Deadline(deadline_s, started + deadline_s, self._clock)
        status, body = exchange(self._link, deadline, method, url, content, headers, BODY_LIMIT_BYTES)
        return Response(status, body, self._clock() - started)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing stays open between requests."""
