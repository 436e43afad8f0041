"""One answer on its way: appends what arrives, and sees where it ends, from as little of it as can be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runbook.load.bench.bounds import OversizedAnswerError, cost_of, too_much
from runbook.load.bench.http1 import MAX_HEAD_BYTES, FramingError, read_response

if TYPE_CHECKING:
    from runbook.load.bench.request import RawStream

_HEAD_END = b"\r\n\r\n"
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_ODD_LAST_CHUNK = re.compile(rb"\r\n0+[ \t]*(?:;[^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*\r\n\Z")
"""With more zeros, an extension or trailers (RFC 9112, 7.1)."""
_TAIL = 1024
_FALSE_ENDS = 16
"""So often an answer may look over without being it: each time all of it is read."""


class Arriving:
    """The answer to `raw`, of which `most` bytes are kept. `keeps`: the server leaves the connection open after it."""

    def __init__(self, raw: RawStream, most: int) -> None:
        self.raw = raw
        self.keeps = False
        self._most = most
        self._size = self._cost = 0
        self._framing = ""  # how the answer ends, once its head is here
        self._missing = 0  # bytes of an answer with a length that are still to come
        self._false_ends = 0
        self._tail = b""

    def take(self, stamp: float, data: bytes) -> bool:
        """The next read; whether the answer is whole with it.

        Raises FramingError for what is no answer, OversizedAnswerError for more of one than its request allows.
        """
        self.raw.reads.append((stamp, data))
        self._size += len(data)
        self._cost += cost_of(data)
        self._missing -= len(data)
        self._tail = (self._tail + data)[-_TAIL:]
        if self._cost > self._most:
            raise OversizedAnswerError(too_much(self._most))
        if not self._framing and self._may_have_head(data):
            self._learn()
        return self._is_whole()

    def _may_have_head(self, data: bytes) -> bool:
        """A head that drips is read once its end is here, not with every drop."""
        return _HEAD_END in data or _HEAD_END in self._tail or self._size > MAX_HEAD_BYTES

    def _learn(self) -> None:
        """What the head, once it is whole, says about the answer's end and the connection's."""
        response = read_response(self.raw.reads)
        self._framing, self._missing = response.framing, response.missing
        self.keeps = response.framing != "close" and response.keeps

    def _is_whole(self) -> bool:
        """Of a chunked answer mostly only the tail is looked at; all of it is read after the load."""
        if self._framing == "chunked":
            return self._tail.endswith(_LAST_CHUNK) or self._ends_oddly()
        return self._framing == "length" and self._missing <= 0

    def _ends_oddly(self) -> bool:
        if not (self._tail.endswith(_HEAD_END) and _ODD_LAST_CHUNK.search(self._tail)):
            return False
        if read_response(self.raw.reads).whole:
            return True
        self._false_ends += 1
        if self._false_ends > _FALSE_ENDS:
            raise FramingError("an answer that looks over again and again")
        return False
