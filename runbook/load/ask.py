"""Asking: one streamed chat to its end, whatever that is, as an Answer.

The reading is the bench's: nothing but stamps and bytes while the load runs; heads, chunks and events are read
afterwards, off the loop that reads the other streams.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from runbook.load.bench.http1 import FramingError, read_response, refusal
from runbook.load.bench.request import RawStream
from runbook.load.exchange import Answer

if TYPE_CHECKING:
    from runbook.load.bench.measure import Send
    from runbook.load.gauge import Gauge

_POLL_S = 0.002
_ENDS = {
    "refused": "refused",
    "timeout": "timeout",
    "stalled": "timeout",
    "deadline": "timeout",
    "reset": "abort",
    "cut": "cut",
    "not a stream": "error",
}


def answer_of(raw: RawStream) -> Answer:
    """What a finished request came to. Pure; never raises for what the server sent."""
    if not raw.framed:
        body = b"".join(data for _, data in raw.reads)
        status = int(raw.failure[5:]) if raw.failure.startswith("http ") else 200
        return _answer(raw.failure, raw.detail, status, body)
    try:
        response = read_response(raw.reads)
    except FramingError as error:
        return _answer("reset", f"no HTTP response: {error}", 0, b"")
    if not response.status:
        return _answer(raw.failure or "reset", raw.detail or "no answer", 0, b"")
    failure, detail = refusal(response)
    if failure:
        return _answer(failure, detail, response.status, b"")
    body = b"".join(data for _, data in response.body)
    failure = raw.failure or ("" if response.whole else "cut")
    return _answer(failure, raw.detail or failure, 200, body)


def _answer(failure: str, detail: str, status: int, body: bytes) -> Answer:
    if failure in ("reset", "timeout", "stalled") and body:
        failure = "cut" if failure == "reset" else "stalled"
    end = "complete" if not failure else _ENDS.get(failure, "error")
    return Answer(
        stream=body,
        end=end,
        detail=f"{failure}: {detail}" if failure and failure not in detail else detail,
        status=status,
    )


class Bodies:
    """Request bodies by number, for senders that ask for the body of a number."""

    def __init__(self) -> None:
        self._bodies: dict[int, dict[str, Any]] = {}
        self._next = 0

    def put(self, body: dict[str, Any]) -> int:
        """Keeps a body until it is taken; returns its number."""
        self._next += 1
        self._bodies[self._next] = body
        return self._next

    def take(self, number: int) -> dict[str, Any]:
        return self._bodies.pop(number)


class Asker:
    """Sends a run's requests."""

    def __init__(self, send: Send, bodies: Bodies) -> None:
        self._send = send
        self._bodies = bodies

    async def ask(self, body: dict[str, Any], left_s: float, gauge: Gauge) -> RawStream:
        """Ask and read to the end, for `left_s` seconds at most; what happened is in the result."""
        raw = RawStream(self._bodies.put(body))
        with gauge.watching(raw):
            try:
                await asyncio.wait_for(self._send(raw), max(0.001, left_s))
            except asyncio.TimeoutError:
                raw.failure, raw.detail = "deadline", "the session took too long"
        return raw

    async def ask_and_drop(self, body: dict[str, Any], reads: int) -> None:
        """Ask, wait for some reads and hang up, as impatient users do (sglang#24527: pages reused after it)."""
        raw = RawStream(self._bodies.put(body))
        sending = asyncio.ensure_future(self._send(raw))
        try:
            while not sending.done() and len(raw.reads) < reads:
                await asyncio.sleep(_POLL_S)
        finally:
            sending.cancel()
            await asyncio.wait([sending])
