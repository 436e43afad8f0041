"""What a finished request came to, by what the wire kept of it."""

from __future__ import annotations

import pytest

from runbook.load.ask import answer_of
from runbook.load.bench.request import RawStream

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
BODY = b"5\r\nhello\r\n"
END = b"0\r\n\r\n"


def raw(*reads: bytes, failure: str = "", framed: bool = True) -> RawStream:
    stamped = [(1.0 + at, data) for at, data in enumerate(reads)]
    return RawStream(1, sent=0.5, failure=failure, framed=framed, reads=stamped)


@pytest.mark.parametrize(
    ("given", "end", "status", "stream"),
    [
        (raw(HEAD + BODY, END), "complete", 200, b"hello"),
        (raw(HEAD, BODY, BODY, END), "complete", 200, b"hellohello"),
        (raw(HEAD + BODY), "cut", 200, b"hello"),
        (raw(HEAD + BODY, failure="cut"), "cut", 200, b"hello"),
        (raw(HEAD + BODY, failure="stalled"), "timeout", 200, b"hello"),
        (raw(HEAD + BODY, failure="deadline"), "timeout", 200, b"hello"),
        (raw(HEAD + BODY, failure="reset"), "cut", 200, b"hello"),
        (raw(failure="timeout"), "timeout", 0, b""),
        (raw(failure="refused"), "refused", 0, b""),
        (raw(failure="reset"), "abort", 0, b""),
        (raw(), "abort", 0, b""),
        (raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), "abort", 0, b""),
        (raw(b"HTTP/1.1 503 X\r\ncontent-length: 4\r\n\r\nbusy"), "error", 503, b""),
        (
            raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\n<p>x"),
            "error",
            200,
            b"",
        ),
        (raw(b"hello", framed=False), "complete", 200, b"hello"),
        (raw(b"hel", framed=False, failure="cut"), "cut", 200, b"hel"),
        (raw(framed=False, failure="http 429"), "error", 429, b""),
        (raw(framed=False, failure="refused"), "refused", 200, b""),
        (raw(framed=False, failure="not a stream"), "error", 200, b""),
    ],
)
def test_an_answer_ends_as_the_wire_saw_it(given: RawStream, end: str, status: int, stream: bytes) -> None:
    answer = answer_of(given)
    assert (answer.end, answer.status, answer.stream) == (end, status, stream)


def test_an_error_is_told_with_its_body() -> None:
    answer = answer_of(raw(b"HTTP/1.1 503 X\r\ncontent-length: 4\r\n\r\nbusy"))
    assert answer.detail == "http 503: HTTP 503: busy"
