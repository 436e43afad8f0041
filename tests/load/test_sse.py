"""Event streams on bytes: the grammar's cases, and that pieces do not matter."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.load.sse import OversizedEventError, SseEvent, SseParser

if TYPE_CHECKING:
    from collections.abc import Sequence

CASES = {
    "LF": (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
    "CRLF": (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    "CR": (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    "mixed ends": (b"data: a\r\n\ndata: b\r\r\n", [b"a", b"b"]),
    "several data lines": (b"data: a\ndata: b\n\n", [b"a\nb"]),
    "one blank after the colon goes": (b"data:  a\n\n", [b" a"]),
    "no blank after the colon": (b"data:a\n\n", [b"a"]),
    "a field without a colon is empty": (b"data\n\n", [b""]),
    "comments": (b": hi\ndata: a\n: there\n\n:\n\n", [b"a"]),
    "an event without data is none": (b"event: ping\n\ndata: a\n\n", [b"a"]),
    "unknown fields": (b"retry: 10\nid: 7\nfoo: bar\ndata: a\n\n", [b"a"]),
    "a BOM": (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
    "a BOM later is text": (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [b"a"]),
    "a line separator is no line end": ("data: a\u2028b\x0bc\n\n".encode(), ["a\u2028b\x0bc".encode()]),
    "no data name with blanks": (b" data: a\n\ndata: b\n\n", [b"b"]),
    "a colon in the value": (b'data: {"a": 1}\n\n', [b'{"a": 1}']),
    "invalid UTF-8 stays": (b"data: \xff\xc3\n\n", [b"\xff\xc3"]),
}


def parsed(stream: bytes, cuts: Sequence[int] = ()) -> tuple[list[SseEvent], list[SseEvent]]:
    parser = SseParser()
    places = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in itertools.pairwise(places)]
    return [event for piece in pieces for event in parser.feed(piece)], parser.close()


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_grammar_is_followed(name: str) -> None:
    stream, wanted = CASES[name]
    events, rest = parsed(stream)
    assert [event.data for event in events] == wanted
    assert rest == []


@given(st.sampled_from(sorted(CASES)), st.lists(st.integers(0, 200), max_size=12))
def test_any_split_of_a_case_gives_the_same_events(name: str, cuts: list[int]) -> None:
    stream, _ = CASES[name]
    assert parsed(stream, cuts) == parsed(stream)


@given(
    st.lists(
        st.sampled_from([b"data", b":", b" ", b"\r", b"\n", b"\xef\xbb\xbf", b"x", b"event", b"\xe2"]),
        max_size=40,
    ),
    st.lists(st.integers(0, 200), max_size=12),
)
def test_any_split_of_any_bytes_gives_the_same_events(parts: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(parts)
    assert parsed(stream, cuts) == parsed(stream)


@given(st.lists(st.binary(max_size=30).filter(lambda data: not {10, 13} & set(data)), max_size=8))
def test_what_is_written_is_read(values: list[bytes]) -> None:
    stream = b"".join(b"data: " + value + b"\n\n" for value in values)
    assert [event.data for event in parsed(stream)[0]] == values


def test_offsets_point_at_the_first_line_of_each_event() -> None:
    stream = b"\xef\xbb\xbf: note\r\ndata: a\r\n\r\nevent: x\rdata: b\r\r"
    events, _ = parsed(stream)
    assert [(event.event, stream[event.offset :][:6]) for event in events] == [
        ("", b"data: "),
        ("x", b"event:"),
    ]


def test_an_event_at_the_end_without_its_blank_line_is_given_at_the_close() -> None:
    assert parsed(b"data: a\n\ndata: [DONE]\n")[1] == [SseEvent(b"[DONE]", "", 9)]
    assert parsed(b"data: a\n\ndata: cut he")[1] == []


def test_lines_and_events_are_bounded() -> None:
    with pytest.raises(OversizedEventError, match="a line of more than 100 bytes"):
        SseParser(max_line_bytes=100).feed(b"data: " + b"x" * 200)
    with pytest.raises(OversizedEventError, match="a line of more than 100 bytes"):
        SseParser(max_line_bytes=100).feed(b"data: " + b"x" * 200 + b"\n\n")
    with pytest.raises(OversizedEventError, match="an event of more than 100 bytes"):
        SseParser(max_event_bytes=100).feed(b"data: xxxxxxxxxxxxxxxxxxxx\n" * 10)


def test_what_came_before_an_oversized_line_is_given_wherever_the_stream_is_cut() -> None:
    for pieces in ([b"data: a\n\ndata: " + b"x" * 200], [b"data: a\n\n", b"data: " + b"x" * 200]):
        parser = SseParser(max_line_bytes=100)
        assert [event.data for event in parser.feed(pieces[0])] == [b"a"]
        with pytest.raises(OversizedEventError, match="at byte 9"):
            parser.feed(pieces[-1])
        with pytest.raises(OversizedEventError, match="at byte 9"):
            parser.close()
