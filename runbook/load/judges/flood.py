"""flood: one character or token over and over, a begin, end or pad token in the text, or NaN logits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange

REPEATS = 24
WINDOW = 64
FILLED = 0.9
_RULES = frozenset("-=_*# \t\r\n")
_RUN = re.compile(rf"(.{{1,16}}?)\1{{{REPEATS - 1},}}", re.DOTALL)
_LITERAL = re.compile(
    r"<[|｜](?:begin|end)[▁_ ]of[▁_ ]sentence[|｜]>|<[|｜][▁_]?pad[▁_]?[|｜]>|<\|endoftext\|>"
)


def judge(exchange: Exchange) -> Iterator[Defect]:
    reply = exchange.reply
    if reply.matched_stop and "nan" in reply.matched_stop.lower():
        yield Defect("flood", Severity.HARD, f"matched_stop says {reply.matched_stop[:60]!r}")
    for channel in reply.channels:
        if (at := repeated_at(channel.text)) is not None:
            message = f"{channel.name}: the same over and over, {REPEATS} times or more"
            yield Defect("flood", Severity.HARD, message, channel.offset(at), excerpt(channel.text, at))
        if found := _LITERAL.search(channel.text):
            message = f"{channel.name}: a special token as text"
            at = found.start()
            yield Defect("flood", Severity.HARD, message, channel.offset(at), excerpt(channel.text, at))


def repeated_at(text: str) -> int | None:
    """Where a unit of 1–16 characters begins that fills a window of the text; None when there is none.

    A window is 64 characters, or the whole of a shorter text. Lines drawn with - = _ * # are no flood.
    """
    if len(text) < REPEATS:
        return None
    for found in _RUN.finditer(text):
        length = found.end() - found.start()
        if length >= FILLED * min(WINDOW, len(text)) and not _RULES.issuperset(found[1]):
            return found.start()
    return None
