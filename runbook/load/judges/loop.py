"""loop: the model says the same words again and again."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange

WORDS = 8
TIMES = 6
RATIO = 0.10
LEAST = 600
_WORD = re.compile(r"\S+")


def judge(exchange: Exchange) -> Iterator[Defect]:
    reply = exchange.reply
    for channel in reply.channels:
        message = repeated_words(channel.text)
        if not message and reply.finish_reason == "length":
            message = compressed(channel.text)
        if message:
            text = channel.text
            yield Defect(
                "loop", Severity.SOFT, f"{channel.name}: {message}", channel.offset(0), excerpt(text)
            )


def repeated_words(text: str) -> str:
    """What is repeated, when 8 words in a row come 6 times or more."""
    words = _WORD.findall(text)
    if len(words) < WORDS + TIMES - 1:
        return ""
    grams = Counter(zip(*(words[start:] for start in range(WORDS)), strict=False))
    gram, times = grams.most_common(1)[0]
    return f"{times} times {' '.join(gram)[:60]!r}" if times >= TIMES else ""


def compressed(text: str) -> str:
    """How far the text compresses, when it is long and does so to less than a tenth."""
    raw = text.encode("utf-8", "backslashreplace")
    if len(text) < LEAST:
        return ""
    ratio = len(zlib.compress(raw)) / len(raw)
    return f"{len(text)} characters compress to {ratio:.0%}" if ratio < RATIO else ""
