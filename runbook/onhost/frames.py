"""Frames: four bytes big-endian length, then that many bytes of ASCII-escaped JSON."""

from __future__ import annotations

import json
import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, Any

# Far above any answer we give; a length beyond it is noise on the channel, not a frame.
LIMIT_BYTES = 64 * 1024 * 1024


class FrameError(Exception):
    """What arrived is not a frame."""


def encode(document: Any) -> bytes:
    """One frame. Lone surrogates, as in undecodable file names, survive because JSON escapes them."""
    body = json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    return len(body).to_bytes(4, "big") + body


class Decoder:
    """Cuts a byte stream into documents, however the stream was cut on its way."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> list[Any]:
        """The documents that `chunk` completes; FrameError where a length or a body makes no sense."""
        self._pending += chunk
        documents: list[Any] = []
        while True:
            size = _whole(self._pending)
            if size is None:
                return documents
            documents.append(_parse(bytes(self._pending[4:size])))
            del self._pending[:size]


def read(stream: IO[bytes]) -> Iterator[Any]:
    """The documents of a buffered stream until its end; what is left of a frame then is dropped."""
    decoder = Decoder()
    for chunk in iter(lambda: stream.read1(65536), b""):  # type: ignore[attr-defined]
        yield from decoder.feed(chunk)


def _whole(pending: bytearray) -> int | None:
    """Bytes of the first frame in `pending`, its length included; None while it is incomplete."""
    if len(pending) < 4:
        return None
    length = int.from_bytes(pending[:4], "big")
    if length > LIMIT_BYTES:
        raise FrameError(f"a frame of {length} bytes is announced, at most {LIMIT_BYTES} are taken")
    return 4 + length if len(pending) >= 4 + length else None


def no_number(constant: str) -> None:
    """NaN and Infinity are Python's own; a document with them could not be told on as JSON."""
    raise ValueError(f"{constant} is no number")


def finite(text: str) -> float:
    """What is written 1e999 would be told on as Infinity."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is beyond any number kept here")
    return value


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=no_number, parse_float=finite)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame is no JSON: {error}") from None
