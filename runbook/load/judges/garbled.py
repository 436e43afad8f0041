"""garbled: a jumble of writing systems the prompt does not have, or two of them inside one word.

One other language is no defect: DeepSeek answers in Chinese on its own. Chinese, Japanese and Korean writing count
as one system, and a Latin word beside Chinese characters is ordinary.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange

SCRIPTS = 3
WITHIN = 200
_WORD = re.compile(r"[^\W\d_]{2,}")
_EAST_ASIAN = frozenset(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "FULLWIDTH", "HALFWIDTH"))
_NO_SCRIPT = frozenset(
    ("MODIFIER", "FEMININE", "MASCULINE", "MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT", "MICRO")
)


def judge(exchange: Exchange) -> Iterator[Defect]:
    for channel in exchange.reply.channels:
        if (found := garbled_at(channel.text)) is not None:
            at, message = found
            offset = channel.offset(at)
            yield Defect(
                "garbled", Severity.SOFT, f"{channel.name}: {message}", offset, excerpt(channel.text, at)
            )


def garbled_at(text: str) -> tuple[int, str] | None:
    """Where a jumble begins and what it is; None for ordinary text. The prompt is Latin."""
    if text.isascii():
        return None
    seen: list[tuple[int, str]] = []
    for word in _WORD.finditer(text):
        scripts = {script_of(letter) for letter in word[0]} - {""}
        if len(scripts - {"EAST ASIAN"}) > 1:
            return word.start(), f"{' and '.join(sorted(scripts))} in one word"
        seen.extend((word.start(), script) for script in sorted(scripts - {"LATIN"}))
        seen = [(at, script) for at, script in seen if at > word.start() - WITHIN]
        if len({script for _, script in seen}) >= SCRIPTS:
            return seen[0][0], f"{SCRIPTS} writing systems within {WITHIN} characters"
    return None


def script_of(letter: str) -> str:
    """The writing system of a letter, by the first word of its Unicode name; empty when it has none."""
    if letter.isascii():
        return "LATIN"
    first = unicodedata.name(letter, "").split(" ", 1)[0]
    if first in _EAST_ASIAN:
        return "EAST ASIAN"
    return "" if first in _NO_SCRIPT else first
