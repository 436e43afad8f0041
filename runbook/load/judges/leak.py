"""leak: markers of tools, thinking or roles in what the user sees, whole or damaged.

DeepSeek's markers are written with U+FF5C bars and U+2581 underscores: V4 `<｜DSML｜tool_calls>`, V3.2
`function_calls`, V3.1 `<｜tool▁calls▁begin｜>`. Either character near a marker's words is a leak; a bare bar is
Chinese punctuation. Tested on the joined text: a marker is mostly split over several chunks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.assembly import Channel
    from runbook.load.exchange import Exchange

_NEAR = 16
_MARKER = re.compile(
    r"DSML|</?think>|(?:invoke|parameter)\s?name=|tool_calls?\s*>|function_calls?\s*>|<function=|\[TOOL_CALLS\]|<\|[a-zA-Z_]{2,24}\|>",
    re.IGNORECASE,
)
_BAR = re.compile("[｜▁]")
_WORDS = re.compile(
    r"[<>]|DSML|think|tool|call|invoke|function|parameter|sentence|user|assistant|system", re.IGNORECASE
)


def judge(exchange: Exchange) -> Iterator[Defect]:
    reply = exchange.reply
    for channel in reply.channels:
        # A model may think aloud about its own syntax; DeepSeek's characters it never needs for that.
        plain = None if channel is reply.reasoning else _MARKER.search(channel.text)
        if plain:
            yield _defect(channel, plain.start(), Severity.HARD, f"the marker {plain[0]!r}")
        elif bar := _bar(channel.text):
            severity, at = bar
            yield _defect(channel, at, severity, f"the character {channel.text[at]!r}")


def _bar(text: str) -> tuple[Severity, int] | None:
    """The first bar or underscore of a marker, else the first bare one, and what it weighs."""
    if text.isascii():
        return None
    places = [found.start() for found in _BAR.finditer(text)]
    for at in places:
        if _WORDS.search(text, max(0, at - _NEAR), at + _NEAR + 1):
            return Severity.HARD, at
    return (Severity.SOFT, places[0]) if places else None


def _defect(channel: Channel, at: int, severity: Severity, what: str) -> Defect:
    message = f"{channel.name}: {what} of the chat format in the text"
    return Defect("leak", severity, message, channel.offset(at), excerpt(channel.text, at))
