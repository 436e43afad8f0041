"""One HTTP/1.1 response, read from stamped pieces after they came: status, headers, body, and whether it was whole.

A body is chunked, has a length, or lasts until the connection ends (RFC 9112, 6).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Read = tuple[float, bytes]

MAX_HEAD_BYTES = 64 << 10
_EXCERPT_BYTES = 300
_MAX_SIZE_LINE_BYTES = 4 << 10  # of a chunk, its extensions included
# Of ASCII digits alone, and no more of them than a size has: int() also takes signs, blanks and other writing systems.
_STATUS = re.compile(r"HTTP/1\.[0-9] ([0-9]{3})(?![^ ])")
_LENGTH = re.compile(r"[0-9]{1,18}")
_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}")


class FramingError(ValueError):
    """Bytes that are no HTTP/1.1 response."""


@dataclass(frozen=True, slots=True)
class Response:
    """`body` keeps the stamp of the read each piece came with. `whole` false: it broke off before its end.

    `status` 0 and `framing` empty: the head is not here yet. `framing` is what tells the end: chunked, length, or close.
    `keeps`: the server leaves the connection open for another request. `missing`: bytes of its length yet to come.
    """

    status: int
    framing: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Sequence[tuple[float, bytes]] = ()
    whole: bool = False
    keeps: bool = False
    missing: int = 0


def refusal(response: Response) -> tuple[str, str]:
    """Why a response is no event stream to read: a failure's kind, and one line for people; both empty where it is one."""
    excerpt = b"".join(data for _, data in response.body)[:_EXCERPT_BYTES].decode("utf-8", "replace")
    if response.status != 200:
        return f"http {response.status}", f"HTTP {response.status}: {excerpt}"
    kind = response.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "text/event-stream":
        return "not a stream", f"expected text/event-stream, found {kind!r}: {excerpt}"
    coding = response.headers.get("content-encoding", "identity").lower()
    if coding != "identity":
        return "not a stream", f"a stream in {coding[:40]!r}, though identity was asked for"
    return "", ""


def read_response(reads: Sequence[Read]) -> Response:
    """The response so far. Raises FramingError."""
    head, rest = _head(reads)
    if head is None:
        return Response(0)
    status, headers = _parsed(head)
    keeps = _keeps(head, headers)
    if "chunked" in headers.get("transfer-encoding", "").lower():
        chunks = _Chunks()
        body = [(stamp, piece) for stamp, data in rest for piece in chunks.feed(data)]
        return Response(status, "chunked", headers, body, chunks.ended, keeps)
    body = [(stamp, data) for stamp, data in rest if data]
    length = headers.get("content-length")
    if length is None:
        return Response(status, "close", headers, body, whole=True)
    if not _LENGTH.fullmatch(length):
        raise FramingError(f"should be a content-length, found {length[:40]!r}")
    missing = int(length) - sum(len(data) for _, data in body)
    return Response(status, "length", headers, body, missing <= 0, keeps, missing)


def _head(reads: Sequence[Read]) -> tuple[bytes | None, list[Read]]:
    """The last head (interim 1xx ones are passed over) without its blank line, and the reads after it."""
    text, begin = b"", 0
    for at, (stamp, data) in enumerate(reads):
        text += data
        while (end := text.find(b"\r\n\r\n", begin)) >= 0 and begin <= MAX_HEAD_BYTES:
            head, begin = text[begin:end], end + 4
            if not head.startswith((b"HTTP/1.1 1", b"HTTP/1.0 1")):
                return head, [(stamp, text[begin:]), *reads[at + 1 :]]
        if len(text) > MAX_HEAD_BYTES:
            raise FramingError(f"no end of the response head in {len(text)} bytes")
    return None, []


def _parsed(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    status = _STATUS.match(first)
    if status is None:
        raise FramingError(f"should start with an HTTP/1.1 status, found {first[:80]!r}")
    pairs = (line.partition(":") for line in lines)
    return int(status[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}


def _keeps(head: bytes, headers: Mapping[str, str]) -> bool:
    """HTTP/1.1 keeps a connection unless told otherwise, HTTP/1.0 closes it unless told otherwise."""
    said = headers.get("connection", "").lower()
    return "keep-alive" in said if head.startswith(b"HTTP/1.0") else "close" not in said


class _Chunks:
    """Takes the chunked body in any pieces, gives the payload of each."""

    def __init__(self) -> None:
        self._rest = b""
        self._left = 0  # bytes of the current chunk still to come, its CRLF included
        self.ended = False

    def feed(self, data: bytes) -> Iterable[bytes]:
        payload = b"".join(self._payload(self._rest + data))
        return (payload,) if payload else ()

    def _payload(self, data: bytes) -> Iterator[bytes]:
        at = 0
        while not self.ended:
            if self._left:
                taken = data[at : at + self._left]
                yield taken[: max(0, self._left - 2)]
                at, self._left = at + len(taken), self._left - len(taken)
            if self._left or (end := data.find(b"\r\n", at)) < 0:
                break
            size = _size(data[at:end])
            at, self._left, self.ended = end + 2, size + 2 if size else 0, not size
        self._rest = b"" if self.ended else data[at:]
        if len(self._rest) > _MAX_SIZE_LINE_BYTES:
            raise FramingError(f"no end of a chunk's size in {len(self._rest)} bytes")


def _size(line: bytes) -> int:
    text = line.partition(b";")[0].strip()
    if not _SIZE.fullmatch(text):
        raise FramingError(f"should be a chunk size, found {line[:40]!r}")
    return int(text, 16)
