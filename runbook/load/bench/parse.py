"""Raw reads of one stream → its record. Every event carries the stamp of the read that completed it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook.load.assembly import MOST_TOKENS
from runbook.load.bench.http1 import read_response, refusal
from runbook.load.bench.request import RequestRecord
from runbook.load.sse import SseParser

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runbook.load.bench.request import RawStream

_CONTENT_KEYS = ("content", "reasoning_content", "reasoning", "tool_calls")


@dataclass(slots=True)
class _Reading:
    arrivals: list[float] = field(default_factory=list)
    usage: Mapping[str, Any] = field(default_factory=dict)
    finish: str | None = None
    failure: str = ""
    detail: str = ""


def record(raw: RawStream) -> RequestRecord:
    """The record of a finished stream. A failure of the transport outranks what the bytes say."""
    reading = _Reading()
    body: Sequence[tuple[float, bytes]] = ()
    try:
        body = _body(raw, reading)
        _read(body, reading)
    except (ValueError, RecursionError) as error:  # of JSON, of an oversized event, of the framing
        reading.failure, reading.detail = reading.failure or "badstream", reading.detail or str(error)
    failure, detail = (raw.failure, raw.detail) if raw.failure else _judge(reading)
    details = _mapping(reading.usage.get("prompt_tokens_details"))
    return RequestRecord(
        index=raw.index,
        intended=raw.intended,
        sent=raw.sent,
        ended=raw.ended,
        first_byte=body[0][0] if body else None,
        arrivals=tuple(reading.arrivals),
        prompt_tokens=_count(reading.usage.get("prompt_tokens")),
        completion_tokens=_count(reading.usage.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens")),
        finish=reading.finish,
        failure="timeout" if failure == "stalled" and not body else failure,
        detail=shown(detail),
    )


def shown(text: str) -> str:
    """A server's text as one short line that no terminal acts on."""
    return "".join(character if character.isprintable() else "·" for character in text[:200])


def _body(raw: RawStream, reading: _Reading) -> Sequence[tuple[float, bytes]]:
    """The reads of the event stream; what keeps the response from being one goes into `reading`."""
    if not raw.framed:
        return raw.reads
    response = read_response(raw.reads)
    if not response.status:
        reading.failure, reading.detail = "reset", "the connection ended without an answer"
        return ()
    reading.failure, reading.detail = refusal(response)
    if reading.failure:
        return ()
    if not response.whole:
        reading.failure, reading.detail = "cut", "the connection ended within the stream"
    return response.body


def _judge(reading: _Reading) -> tuple[str, str]:
    if reading.failure:
        return reading.failure, reading.detail
    if reading.finish is None:
        return "cut", "the stream ended without a finish_reason"
    if not reading.arrivals:
        return "empty", f"no content event, finish_reason {reading.finish!r}"
    return "", ""


def _read(reads: Iterable[tuple[float, bytes]], reading: _Reading) -> None:
    parser = SseParser()
    stamp = 0.0
    for stamp, chunk in reads:
        for event in parser.feed(chunk):
            _take(event.data, stamp, reading)
    for event in parser.close():
        _take(event.data, stamp, reading)


def _take(data: bytes, stamp: float, reading: _Reading) -> None:
    if data.strip() == b"[DONE]":
        return
    document = _mapping(json.loads(data))
    if "error" in document:
        reading.failure, reading.detail = "streamerror", json.dumps(document["error"])[:200]
        return
    if usage := _mapping(document.get("usage")):
        reading.usage = usage
    choices = document.get("choices")
    for choice in choices if isinstance(choices, list) else []:
        _take_choice(_mapping(choice), stamp, reading)


def _take_choice(choice: Mapping[str, Any], stamp: float, reading: _Reading) -> None:
    delta = _mapping(choice.get("delta"))
    if any(delta.get(key) for key in _CONTENT_KEYS):
        reading.arrivals.append(stamp)
    if isinstance(finish := choice.get("finish_reason"), str):
        reading.finish = finish


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    counts = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS
    return value if counts else None
