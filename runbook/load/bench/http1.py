"""One HTTP/1.1 response, read from stamped pieces after they came: status, headers, body, and whether it was whole.

A body is chunked, has a length, or lasts until the connection ends (RFC 9112, 6).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Read = tuple[float, bytes]

_MAX_HEAD_BYTES = 64 << 10


class FramingError(ValueError):
    """Bytes that are no HTTP/1.1 response."""


@dataclass(frozen=True, slots=True)
class Response:
    """`body` keeps the stamp of the read each piece came with. `whole` false: it broke off before its end.

    `status` 0 and `framing` empty: the head is not here yet. `framing` is what tells the end: chunked, length, or close.
    """

    status: int
    framing: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Sequence[tuple[float, bytes]] = ()
    whole: bool = False


def read_response(reads: Sequence[Read]) -> Response:
    """The response so far. Raises FramingError."""
    head, rest = _head(reads)
    if head is None:
        return Response(0)
    status, headers = _parsed(head)
    if "chunked" in headers.get("transfer-encoding", "").lower():
        chunks = _Chunks()
        body = [(stamp, piece) for stamp, data in rest for piece in chunks.feed(data)]
        return Response(status, "chunked", headers, body, chunks.ended)
    body = [(stamp, data) for stamp, data in rest if data]
    length = headers.get("content-length", "")
    if not length.isdigit():
        return Response(status, "close", headers, body, whole=True)
    return Response(status, "length", headers, body, sum(len(data) for _, data in body) >= int(length))


def _head(reads: Sequence[Read]) -> tuple[bytes | None, list[Read]]:
    """The last head (interim 1xx ones are passed over) without its blank line, and the reads after it."""
    text = b""
    for at, (stamp, data) in enumerate(reads):
        text += data
        while b"\r\n\r\n" in text:
            head, text = text.split(b"\r\n\r\n", 1)
            if not head.startswith((b"HTTP/1.1 1", b"HTTP/1.0 1")):
                return head, [(stamp, text), *reads[at + 1 :]]
        if len(text) > _MAX_HEAD_BYTES:
            raise FramingError(f"no end of the response head in {len(text)} bytes")
    return None, []


def _parsed(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
        raise FramingError(f"should start with an HTTP/1.1 status, found {first[:80]!r}")
    pairs = (line.partition(":") for line in lines)
    return int(rest[:3]), {name.strip().lower(): value.strip() for name, _, value in pairs}


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


def _size(line: bytes) -> int:
    text = line.partition(b";")[0].strip()
    try:
        return int(text, 16)
    except ValueError:
        raise FramingError(f"should be a chunk size, found {line[:40]!r}") from None
