from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.load.bench.http1 import FramingError, read_response

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nB;x=y\r\n big\r\n0\r\n\r\n\r\n0\r\n\r\n"


def cut(text: bytes, places: list[int]) -> list[tuple[float, bytes]]:
    edges = [0, *sorted({place % len(text) for place in places} - {0}), len(text)]
    return [(float(at), text[a:b]) for at, (a, b) in enumerate(itertools.pairwise(edges))]


@given(st.lists(st.integers(0, 10_000), max_size=12))
def test_the_body_does_not_depend_on_where_the_reads_were_cut(places: list[int]) -> None:
    found = read_response(cut(CHUNKED, places))
    assert b"".join(data for _, data in found.body) == b"hello big\r\n0\r\n\r\n"
    assert found.whole
    assert found.status == 200


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8), st.lists(st.integers(0, 10_000), max_size=8))
def test_chunks_of_any_bytes_come_back(payloads: list[bytes], places: list[int]) -> None:
    framed = b"".join(b"%x\r\n%s\r\n" % (len(payload), payload) for payload in payloads) + b"0\r\n\r\n"
    found = read_response(cut(HEAD + b"transfer-encoding: chunked\r\n\r\n" + framed, places))
    assert b"".join(data for _, data in found.body) == b"".join(payloads)


@pytest.mark.parametrize("kept", [1, 40, 90, len(CHUNKED) - 8])
def test_a_response_that_broke_off_is_not_whole(kept: int) -> None:
    assert not read_response([(0.0, CHUNKED[:kept])]).whole


@pytest.mark.parametrize(("length", "whole"), [(b"5", True), (b"6", False)])
def test_a_length_says_where_the_end_is(length: bytes, whole: bool) -> None:
    found = read_response([(0.0, b"HTTP/1.1 503 Busy\r\ncontent-length: " + length + b"\r\n\r\nhello")])
    assert (found.status, found.whole) == (503, whole)


def test_without_length_the_end_of_the_connection_is_the_end() -> None:
    assert read_response([(0.0, b"HTTP/1.0 200 OK\r\n\r\nall")]).whole


def test_an_interim_response_is_passed_over() -> None:
    assert read_response([(0.0, b"HTTP/1.1 100 Continue\r\n\r\n"), (1.0, CHUNKED)]).status == 200


def test_every_piece_keeps_the_stamp_of_its_read() -> None:
    reads = [
        (1.0, HEAD),
        (2.0, b"transfer-encoding: chunked\r\n\r\n1\r\na\r\n"),
        (3.0, b"1\r\nb\r\n0\r\n\r\n"),
    ]
    assert list(read_response(reads).body) == [(2.0, b"a"), (3.0, b"b")]


@pytest.mark.parametrize(
    "text", [b"SSH-2.0-OpenSSH\r\n\r\n", b"x" * 70_000, HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n"]
)
def test_what_is_no_response_is_refused(text: bytes) -> None:
    with pytest.raises(FramingError):
        read_response([(0.0, text)])
