"""From the bytes of one streamed chat response to what the model said, strictly.

Nothing is repaired: a missing finish reason stays None, a second id at one index is a problem and no new call.
"""

from __future__ import annotations

import bisect
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook.load.sse import OversizedEventError, SseEvent, SseParser

if TYPE_CHECKING:
    from collections.abc import Mapping

DONE = b"[DONE]"
MOST_TOKENS = 1 << 40
"""No count of tokens is above it: what is, is no count, and would be no float either."""
MOST_CALLS = 100
MOST_PROBLEMS = 100
"""Of one reply; one call is asked for, and the first problem already decides."""


@dataclass(frozen=True, slots=True)
class Channel:
    """The joined text of one kind of output, and where in the stream each piece of it came from.

    `starts` are the character positions of the pieces, `offsets` the byte offsets of their events.
    """

    name: str
    text: str
    starts: tuple[int, ...] = ()
    offsets: tuple[int, ...] = ()

    def offset(self, position: int) -> int:
        """The byte offset of the event that carried the character at `position`; -1 for an empty channel."""
        if not self.starts:
            return -1
        return self.offsets[max(0, bisect.bisect_right(self.starts, position) - 1)]


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call as assembled: index, id and name as the server gave them, the arguments' text."""

    index: int
    id: str | None
    name: str | None
    arguments: Channel


@dataclass(frozen=True, slots=True)
class Problem:
    """The stream broke a rule of the format; `kind` is the corruption class it counts as."""

    kind: str
    message: str
    offset: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What one response said. `chunks` counts events that carried output; `error` is an in-stream error's text."""

    content: Channel
    reasoning: Channel
    calls: tuple[Call, ...]
    finish_reason: str | None
    matched_stop: str | None
    usage: Mapping[str, Any] | None
    done: bool
    error: str | None
    problems: tuple[Problem, ...]
    chunks: int

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Everything the model said, calls' arguments included."""
        return (self.content, self.reasoning, *(call.arguments for call in self.calls))

    @property
    def completion_tokens(self) -> int | None:
        """Output tokens by the server's own count; None when it gave none."""
        return self._count("completion_tokens")

    @property
    def prompt_tokens(self) -> int | None:
        """Prompt tokens by the server's own count; None when it gave none."""
        return self._count("prompt_tokens")

    def _count(self, name: str) -> int | None:
        count = (self.usage or {}).get(name)
        return count if isinstance(count, int) and 0 <= count < MOST_TOKENS else None


def assemble(stream: bytes) -> Reply:
    """The reply a whole response body amounts to. Never raises: what does not fit is a problem of the reply."""
    draft = _Draft()
    parser = SseParser()
    try:
        for event in parser.feed(stream):
            draft.event(event)
        for event in parser.close():
            draft.event(event)
    except OversizedEventError as error:
        draft.problem("truncated", str(error), 0)
    return draft.reply()


@dataclass
class _Pieces:
    """A channel in the making."""

    name: str
    parts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    length: int = 0

    def add(self, text: str, offset: int) -> None:
        self.parts.append(text)
        self.starts.append(self.length)
        self.offsets.append(offset)
        self.length += len(text)

    def channel(self) -> Channel:
        return Channel(self.name, "".join(self.parts), tuple(self.starts), tuple(self.offsets))


@dataclass
class _DraftCall:
    index: int
    arguments: _Pieces
    id: str | None = None
    name: str | None = None


class _Draft:
    """A reply in the making."""

    def __init__(self) -> None:
        self._content = _Pieces("content")
        self._reasoning = _Pieces("reasoning")
        self._calls: dict[int, _DraftCall] = {}
        self._last_index = 0
        self._finish: str | None = None
        self._matched_stop: str | None = None
        self._usage: Mapping[str, Any] | None = None
        self._done = False
        self._error: str | None = None
        self._problems: list[Problem] = []
        self._chunks = 0

    def problem(self, kind: str, message: str, offset: int) -> None:
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(Problem(kind, message, offset))

    def event(self, event: SseEvent) -> None:
        if event.data.strip() == DONE:
            self._done = True
            return
        if self._done:
            self.problem("merged", "an event after [DONE]", event.offset)
        try:
            document = json.loads(event.data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            self.problem("truncated", "an event that is not JSON", event.offset)
            return
        if isinstance(document, dict):
            self._document(document, event.offset)
        else:
            self.problem("truncated", "an event that is no JSON object", event.offset)

    def _document(self, document: dict[str, Any], offset: int) -> None:
        if document.get("error") or document.get("object") == "error":
            self._error = json.dumps(document.get("error") or document)[:500]
        if isinstance(document.get("usage"), dict):
            self._usage = document["usage"]
        choices = document.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self._choice(choice, offset)

    def _choice(self, choice: dict[str, Any], offset: int) -> None:
        if choice.get("index"):
            self.problem("merged", f"choice {choice['index']!r} where one was asked for", offset)
            return
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._delta(delta, offset)
        if choice.get("matched_stop") is not None:
            self._matched_stop = str(choice["matched_stop"])
        reason = choice.get("finish_reason")
        if reason in (None, ""):  # some servers say "" until they know
            return
        if self._finish is not None and self._finish != reason:
            self.problem("badfinish", f"finish_reason {self._finish!r}, then {reason!r}", offset)
        self._finish = str(reason)

    def _delta(self, delta: dict[str, Any], offset: int) -> None:
        said = False
        if content := delta.get("content"):
            self._content.add(str(content), offset)
            said = True
        if reasoning := delta.get("reasoning_content") or delta.get("reasoning"):
            self._reasoning.add(str(reasoning), offset)
            said = True
        parts = delta.get("tool_calls") or []
        if not isinstance(parts, list):
            self.problem("truncated", "tool calls that are no list", offset)
            parts = []
        for part in parts:
            if isinstance(part, dict):
                self._call(part, offset)
                said = True
        self._chunks += said

    def _call(self, part: dict[str, Any], offset: int) -> None:
        index = part.get("index")
        if not isinstance(index, int):
            index = self._index_of(part.get("id"))
        if len(self._calls) >= MOST_CALLS and index not in self._calls:
            self.problem("merged", f"more than {MOST_CALLS} calls", offset)
            return
        self._last_index = index
        call = self._calls.setdefault(index, _DraftCall(index, _Pieces(f"call {index}")))
        function = part.get("function")
        function = function if isinstance(function, dict) else {}
        # Some servers repeat id and name in every delta; none may change them.
        if (new := part.get("id")) and new != call.id:
            call.id = self._first(call.id, new, index, offset)
        if (new := function.get("name")) and new != call.name:
            call.name = self._first(call.name, new, index, offset)
        if arguments := function.get("arguments"):
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            call.arguments.add(text, offset)

    def _index_of(self, call: object) -> int:
        """Servers that leave the index out: a new id starts a new call, anything else goes on with the last."""
        known = [draft.index for draft in self._calls.values() if draft.id == call]
        if known:
            return known[-1]
        return len(self._calls) if call else self._last_index

    def _first(self, known: str | None, new: object, index: int, offset: int) -> str:
        """The value an index keeps: the first it had."""
        if known is not None:
            self.problem("merged", f"call {index}: {known!r}, then {str(new)!r}", offset)
            return known
        return str(new)

    def reply(self) -> Reply:
        calls = [self._calls[index] for index in sorted(self._calls)]
        return Reply(
            content=self._content.channel(),
            reasoning=self._reasoning.channel(),
            calls=tuple(Call(c.index, c.id, c.name, c.arguments.channel()) for c in calls),
            finish_reason=self._finish,
            matched_stop=self._matched_stop,
            usage=self._usage,
            done=self._done,
            error=self._error,
            problems=tuple(self._problems),
            chunks=self._chunks,
        )
