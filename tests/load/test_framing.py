"""Answers that are framed in every way HTTP/1.1 allows, and in some it does not: a run takes them for what they are."""

from __future__ import annotations

import gzip
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runbook.load.outcome import Outcome
from tests.faultserver.reply import encoded, events_of
from tests.faultserver.server import Behaviour, Request
from tests.load.test_run import OPTIONS, run

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.real

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"


def chunk(payload: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(payload), payload)


def ended(end: bytes) -> Any:
    return lambda stream: [CHUNKED + chunk(stream) + end]


def with_length(version: bytes) -> Any:
    head = HEAD.replace(b"HTTP/1.1", version)
    return lambda stream: [head + b"content-length: %d\r\n\r\n%s" % (len(stream), stream)]


def byte_by_byte(stream: bytes) -> Sequence[bytes]:
    whole: bytes = CHUNKED + chunk(stream) + b"0\r\n\r\n"
    return [whole[:-8], *(whole[at : at + 1] for at in range(len(whole) - 8, len(whole)))]


GOOD: dict[str, Behaviour] = {
    "trailers": Behaviour(framed=ended(b"0\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n")),
    "an extension on the last chunk": Behaviour(framed=ended(b"0;sum=1\r\n\r\n")),
    "more zeros than one": Behaviour(framed=ended(b"000\r\n\r\n")),
    "the end byte by byte": Behaviour(framed=byte_by_byte, pause_s=0.002),
    "a length": Behaviour(framed=with_length(b"HTTP/1.1")),
    "until the connection ends": Behaviour(framed=lambda stream: [HEAD + b"\r\n" + stream], hangs_up=True),
    "HTTP/1.0, closed after it": Behaviour(framed=with_length(b"HTTP/1.0"), hangs_up=True),
    "closed unsaid between two requests": Behaviour(framed=ended(b"0\r\n\r\n"), pause_s=0.003, hangs_up=True),
}


@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_whole_answer_is_whole_however_it_is_framed(name: str) -> None:
    found = run(lambda request: GOOD[name], replace(OPTIONS, timeout_s=5.0))
    assert found.counts == {"maxrounds": 4}
    assert found.outcome is Outcome.PASS


def zipped(stream: bytes) -> Sequence[bytes]:
    head = CHUNKED.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
    return [head + chunk(gzip.compress(stream)) + b"0\r\n\r\n"]


UNREADABLE: dict[str, tuple[Any, str]] = {
    "gzip, unasked": (zipped, "error"),
    "a length in other digits": (lambda stream: [HEAD + b"content-length: \xb2\r\n\r\n" + stream], "abort"),
    "a length of 5,000 digits": (
        lambda stream: [HEAD + b"content-length: " + b"9" * 5000 + b"\r\n\r\n" + stream],
        "abort",
    ),
    "a status in other digits": (lambda stream: [b"HTTP/1.1 \xb200 OK\r\n\r\n"], "abort"),
    "a chunk of less than nothing": (lambda stream: [CHUNKED + b"-3\r\n" + stream], "abort"),
    "interim answers without end": (lambda stream: [b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000], "abort"),
}


@pytest.mark.parametrize("name", sorted(UNREADABLE))
def test_an_answer_that_cannot_be_read_is_no_corruption_and_no_pass(name: str) -> None:
    framed, end = UNREADABLE[name]
    found = run(lambda request: Behaviour(framed=framed, hangs_up=True))
    assert found.counts == {end: 4}
    assert found.outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize("early", [b"", b": waiting\n\n"])
def test_a_server_that_greets_all_and_serves_one_at_a_time_does_not_reach_the_concurrency(
    early: bytes,
) -> None:
    def framed(stream: bytes) -> Sequence[bytes]:
        queued.append(stream)
        greeting = CHUNKED + (chunk(early) if early else b"")
        return [greeting, *[b""] * (4 * len(queued)), chunk(stream) + b"0\r\n\r\n"]

    queued: list[bytes] = []
    options = replace(OPTIONS, sessions=8, min_concurrency=0.5)
    found = run(lambda request: Behaviour(framed=framed, pause_s=0.003), options)
    assert found.counts == {"maxrounds": 8}
    concurrency = next(one for one in found.findings if one.check == "concurrency")
    assert concurrency.outcome is Outcome.INCONCLUSIVE, concurrency.message


def test_a_count_no_float_can_hold_is_judged() -> None:
    def choose(request: Request) -> Behaviour:
        assert request.plan is not None
        events = events_of(request.plan)
        events[-1]["usage"] = {"completion_tokens": 10**400}
        return Behaviour(stream=encoded(events))

    found = run(choose, replace(OPTIONS, early_stop=False))
    assert found.counts == {"badusage": 4}
