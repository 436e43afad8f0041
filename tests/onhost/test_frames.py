from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.onhost import frames

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(st.lists(DOCUMENTS, max_size=5), st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_documents_arrive_whole_however_the_stream_is_cut(documents: list[Any], sizes: list[int]) -> None:
    stream = b"".join(frames.encode(document) for document in documents)
    decoder = frames.Decoder()
    arrived: list[Any] = []
    while stream:
        for size in sizes:
            arrived += decoder.feed(stream[:size])
            stream = stream[size:]
    assert arrived == documents


def test_a_file_name_that_is_no_utf8_survives() -> None:
    name = b"/srv/\xff\xfe.sh".decode("utf-8", "surrogateescape")
    assert frames.Decoder().feed(frames.encode({"path": name})) == [{"path": name}]


def test_a_frame_is_ascii_behind_its_length() -> None:
    assert frames.encode({"a": "é"}) == b"\x00\x00\x00\x0e" + b'{"a":"\\u00e9"}'


@pytest.mark.parametrize(
    "stream",
    [
        b"Welcome to gpu1\n",
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x03abc",
        b"\x00\x01\x00\x00" + b"[" * 65536,
        b"\x00\x00\x00\x03NaN",
        b"\x00\x00\x00\x051e999",
    ],
    ids=["motd", "length", "json", "depth", "number", "beyond numbers"],
)
def test_noise_is_no_frame(stream: bytes) -> None:
    with pytest.raises(frames.FrameError):
        frames.Decoder().feed(stream)


def test_reading_a_stream_drops_half_a_frame_at_its_end() -> None:
    whole = frames.encode({"id": 1})
    assert list(frames.read(io.BytesIO(whole + whole[:3]))) == [{"id": 1}]
