"""duplicate: a piece of the stream sent twice, every chunk sent twice, or more text than the token count allows."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.assembly import Channel, Reply
    from runbook.load.exchange import Exchange

LEAST = 40
_BACK = 4000
_LETTERS_A_TOKEN = {"call": 2.4, "text": 6.0}
"""More letters and digits than tokenizers pack into a token of such text on average; DeepSeek's own: 1.1–1.5 and 3.7."""
DISAGREES = 1.2


def judge(exchange: Exchange) -> Iterator[Defect]:
    for channel in exchange.reply.channels:
        if (at := resent_at(channel)) is not None:
            message = f"{channel.name}: {LEAST} characters or more twice at a chunk border"
            yield Defect("duplicate", Severity.SOFT, message, channel.offset(at), excerpt(channel.text, at))
        elif (at := stuttered_at(channel)) is not None:
            message = f"{channel.name}: chunk after chunk twice, {LEAST} characters or more"
            yield Defect("duplicate", Severity.SOFT, message, channel.offset(at), excerpt(channel.text, at))
    tokens = exchange.reply.completion_tokens
    if tokens is not None and (least := least_tokens(exchange.reply)) > DISAGREES * max(tokens, 1):
        message = f"text of {least:.0f} tokens at the very least, and {tokens} completion tokens"
        yield Defect("duplicate", Severity.SOFT, message)


def resent_at(channel: Channel) -> int | None:
    """The chunk border after which the chunks right before it come once more; None when there is none.

    Once more, not again and again: that is a loop of the model.
    """
    text, borders = channel.text, frozenset(channel.starts)
    for border in channel.starts:
        if not LEAST <= border <= len(text) - LEAST:
            continue
        copy = text.rfind(text[border : border + LEAST], max(0, border - _BACK), border)
        piece = text[copy:border]
        if copy in borders and text.startswith(piece, border) and not _again(text, copy, piece):
            return border
    return None


def _again(text: str, copy: int, piece: str) -> bool:
    """Whether a piece that stands at `copy` and once after it stands there a third time."""
    return text.endswith(piece, 0, copy) or text.startswith(piece, copy + 2 * len(piece))


def stuttered_at(channel: Channel) -> int | None:
    """Where chunks begin to come twice each, one pair after the other; None where they do not."""
    pieces = [
        channel.text[start:end] for start, end in itertools.pairwise((*channel.starts, len(channel.text)))
    ]
    first, copied, at = 0, 0, 0
    while at + 1 < len(pieces):
        if pieces[at] != pieces[at + 1]:
            first, copied, at = at + 1, 0, at + 1
            continue
        copied, at = copied + _letters(pieces[at]), at + 2
        if copied >= LEAST:
            return channel.starts[first]
    return None


def least_tokens(reply: Reply) -> float:
    """The fewest tokens that can carry what was said; blanks and lines of signs are hardly any."""
    calls = sum(_letters(call.arguments.text) for call in reply.calls)
    prose = _letters(reply.content.text) + _letters(reply.reasoning.text)
    return calls / _LETTERS_A_TOKEN["call"] + prose / _LETTERS_A_TOKEN["text"]


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
