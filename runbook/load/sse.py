"""Server-sent events on bytes, by the WHATWG event-stream grammar.

Lines end in CR, LF or CRLF, also split over two reads; a leading BOM is dropped; a line that starts with a
colon is a comment; several `data:` lines of one event are joined with LF. UTF-8 is never decoded here, so a
character split over two reads stays whole.
Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
"""

from __future__ import annotations

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


class OversizedEventError(ValueError):
    """A line or an event beyond the bound: no chat server sends that, and memory must stay bounded."""


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One dispatched event: data, type (empty: message), byte offset of its first line in the stream."""

    data: bytes
    event: str
    offset: int


class SseParser:
    """Takes the stream in any pieces; what it gives does not depend on where the pieces were cut.

    Raises OversizedEventError for a line over `max_line_bytes` or an event over `max_event_bytes`: once every event
    before it is given, and from then on.
    """

    def __init__(self, *, max_line_bytes: int = 1 << 20, max_event_bytes: int = 4 << 20) -> None:
        self._max_line_bytes = max_line_bytes
        self._max_event_bytes = max_event_bytes
        self._rest = b""
        self._at = 0
        self._after_cr = False
        self._started = False
        self._data: list[bytes] = []
        self._size = 0
        self._event = b""
        self._offset: int | None = None
        self._refused: OversizedEventError | None = None

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Events that this piece completed, in order."""
        found: list[SseEvent] = []
        try:
            self._read(chunk, found)
        except OversizedEventError as error:
            self._refused = error
            if not found:
                raise
        return found

    def close(self) -> list[SseEvent]:
        """End of the stream: the event it ended in, when all of that event's lines were whole.

        A browser discards such an event; some servers leave out the blank line after their last one.
        """
        self._require_readable()
        event = self._dispatch()
        return [] if event is None else [event]

    def _require_readable(self) -> None:
        if self._refused:
            raise self._refused

    def _read(self, chunk: bytes, found: list[SseEvent]) -> None:
        self._require_readable()
        if not chunk:
            return
        lines, self._rest, ending = _split(self._without_bom(self._without_lf(chunk)))
        for line, width in zip(lines, ending, strict=True):
            if event := self._line(line):
                found.append(event)
            self._at += len(line) + width
        if len(self._rest) > self._max_line_bytes:
            raise OversizedEventError(f"a line of more than {self._max_line_bytes} bytes at byte {self._at}")

    def _without_lf(self, chunk: bytes) -> bytes:
        """The unread text, less the LF of a CRLF whose CR ended the piece before."""
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
            self._at += 1
        text = self._rest + chunk
        self._after_cr = text[-1:] == b"\r"
        return text

    def _without_bom(self, text: bytes) -> bytes:
        if self._started or (len(text) < len(_BOM) and _BOM.startswith(text)):
            return text
        self._started = True
        if text.startswith(_BOM):
            self._at += len(_BOM)
            return text[len(_BOM) :]
        return text

    def _line(self, line: bytes) -> SseEvent | None:
        if not line:
            return self._dispatch()
        if len(line) > self._max_line_bytes:
            raise OversizedEventError(f"a line of more than {self._max_line_bytes} bytes at byte {self._at}")
        name, _, value = line.partition(b":")
        if name:
            self._field(name, value[1:] if value[:1] == b" " else value)
        return None

    def _field(self, name: bytes, value: bytes) -> None:
        if self._offset is None:
            self._offset = self._at
        if name == b"event":
            self._event = value
        elif name == b"data":
            self._data.append(value)
            self._size += len(value) + 1
            if self._size > self._max_event_bytes:
                raise OversizedEventError(
                    f"an event of more than {self._max_event_bytes} bytes at byte {self._offset}"
                )

    def _dispatch(self) -> SseEvent | None:
        data, event, offset = self._data, self._event, self._offset
        self._data, self._size, self._event, self._offset = [], 0, b"", None
        if not data:
            return None
        return SseEvent(b"\n".join(data), event.decode("utf-8", "replace"), offset or 0)


def _split(text: bytes) -> tuple[list[bytes], bytes, list[int]]:
    """Whole lines without their ends, the unfinished rest, and the width of each line's end."""
    if b"\r" not in text:
        *lines, rest = text.split(b"\n")
        return lines, rest, [1] * len(lines)
    whole = text.splitlines(keepends=True)  # of bytes: splits at CR, LF and CRLF only
    rest = b"" if whole[-1][-1:] in (b"\r", b"\n") else whole.pop()
    lines = [line.rstrip(b"\r\n") for line in whole]
    return lines, rest, [len(line) - len(bare) for line, bare in zip(whole, lines, strict=True)]
