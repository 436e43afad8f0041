from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.load.bench.parse import record
from runbook.load.bench.request import RawStream, RequestRecord
from tests.load.bench.made import request

USAGE = {"prompt_tokens": 350, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}


def data(document: Any) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def delta(**fields: Any) -> bytes:
    return data({"choices": [{"index": 0, "delta": fields}]})


def finish(reason: str) -> bytes:
    return data({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})


def read(*pieces: bytes, **fields: Any) -> RequestRecord:
    """The record of pieces that came one a second."""
    reads = [(float(at), piece) for at, piece in enumerate(pieces)]
    return record(RawStream(0, sent=0.0, ended=9.0, reads=reads, **fields))


@pytest.mark.parametrize(
    ("event", "counts"),
    [
        (delta(content="hello"), True),
        (delta(reasoning_content="hm"), True),
        (delta(reasoning="hm"), True),
        (delta(tool_calls=[{"index": 0, "function": {"arguments": "{"}}]), True),
        (delta(role="assistant", content=""), False),
        (delta(content=None, reasoning_content=None), False),
        (delta(tool_calls=[]), False),
        (data({"choices": [], "usage": USAGE}), False),
        (b": keep-alive\n\n", False),
    ],
)
def test_the_first_token_is_content_reasoning_or_a_tool_delta(event: bytes, counts: bool) -> None:
    found = read(event, delta(content="x"), finish("stop"), b"data: [DONE]\n\n")
    assert found.arrivals == ((0.0, 1.0) if counts else (1.0,))
    assert found.first_byte == 0.0


def test_events_of_one_read_share_its_stamp() -> None:
    assert read(delta(content="a") + delta(content="b"), finish("stop")).arrivals == (0.0, 0.0)


def test_an_event_over_two_reads_has_the_stamp_of_the_second() -> None:
    whole = delta(content="é")
    assert read(whole[:45], whole[45:], finish("stop")).arrivals == (1.0,)


def test_usage_and_finish_are_kept() -> None:
    found = read(
        delta(content="a"), delta(content="b"), finish("length"), data({"choices": [], "usage": USAGE})
    )
    assert (found.prompt_tokens, found.completion_tokens, found.cached_tokens) == (350, 2, 3)
    assert (found.finish, found.ok) == ("length", True)


def test_without_usage_an_event_is_counted_as_a_token() -> None:
    found = read(delta(content="a"), delta(content="b"), finish("stop"))
    assert (found.completion_tokens, found.output_tokens) == (None, 2)


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        ((delta(content="a"),), "cut"),
        ((delta(content="a"), b"data: [DONE]\n\n"), "cut"),
        ((delta(content="a"), data({"error": {"message": "no"}})), "streamerror"),
        ((b"data: {broken\n\n",), "badstream"),
        ((b"data: " + b"[" * 100_000 + b"\n\n",), "badstream"),
        ((finish("stop"),), "empty"),
        ((), "cut"),
    ],
)
def test_a_stream_that_is_not_whole_has_a_kind_of_failure(pieces: tuple[bytes, ...], kind: str) -> None:
    assert read(*pieces).failure == kind


def test_what_the_transport_saw_outranks_what_the_bytes_say() -> None:
    assert read(delta(content="a"), failure="stalled").failure == "stalled"


@pytest.mark.parametrize(
    "usage", [{"completion_tokens": "9"}, {"completion_tokens": -1}, {"completion_tokens": True}, 3]
)
def test_usage_that_is_no_count_is_no_usage(usage: Any) -> None:
    assert (
        read(delta(content="a"), finish("stop"), data({"choices": [], "usage": usage})).completion_tokens
        is None
    )


@pytest.mark.parametrize(
    "event", [b"data: 3\n\n", b"data: []\n\n", data({"choices": 3}), data({"choices": [3]})]
)
def test_json_of_another_shape_is_passed_over(event: bytes) -> None:
    assert read(event, delta(content="a"), finish("stop")).arrivals == (1.0,)


HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
)


def framed(*events: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in events)


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        ((HEAD, framed(delta(content="a"), finish("stop")), b"0\r\n\r\n"), ""),
        ((HEAD, framed(delta(content="a"), finish("stop"))), "cut"),
        ((b"HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy",), "http 503"),
        (
            (b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",),
            "not a stream",
        ),
        ((b"not http\r\n\r\n",), "badstream"),
        ((), "reset"),
    ],
)
def test_a_framed_response_is_judged_with_its_head(pieces: tuple[bytes, ...], kind: str) -> None:
    assert read(*pieces, framed=True).failure == kind


@given(st.lists(st.integers(1, 600), max_size=10))
def test_framing_and_cuts_change_no_event(places: list[int]) -> None:
    text = HEAD + framed(delta(content="a"), delta(reasoning="b"), finish("stop")) + b"0\r\n\r\n"
    edges = [0, *sorted({place % len(text) for place in places} - {0}), len(text)]
    pieces = [text[a:b] for a, b in itertools.pairwise(edges)]
    found = read(*pieces, framed=True)
    assert (len(found.arrivals), found.ok) == (2, True)


def test_a_record_survives_json() -> None:
    document = json.loads(json.dumps(request().to_json()))
    assert RequestRecord(**{**document, "arrivals": tuple(document["arrivals"])}) == request(
        arrivals=tuple(round(stamp, 6) for stamp in request().arrivals)
    )


def test_a_servers_words_reach_no_terminal_as_commands() -> None:
    found = read(data({"choices": []}), failure="http 500", detail="\x1b[2J\nboom" + "x" * 900)
    assert found.detail.startswith("·[2J·boom")
    assert len(found.detail) == 200
