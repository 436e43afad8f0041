"""duplicate: a piece of the stream sent twice, or more text than the token count allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.assembly import Channel, Reply
    from runbook.load.exchange import Exchange

LEAST = 40
_BACK = 4000
_CHARACTERS_A_TOKEN = {"call": 5.0, "text": 8.0}
"""More characters than any tokenizer packs into a token of this text on average; the true means are 2 and 4."""
DISAGREES = 1.2


def judge(exchange: Exchange) -> Iterator[Defect]:
    for channel in exchange.reply.channels:
        if (at := resent_at(channel)) is not None:
            message = f"{channel.name}: {LEAST} characters or more twice at a chunk border"
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


def least_tokens(reply: Reply) -> float:
    """The fewest tokens that can carry what was said."""
    calls = sum(len(call.arguments.text) for call in reply.calls)
    prose = len(reply.content.text) + len(reply.reasoning.text)
    return calls / _CHARACTERS_A_TOKEN["call"] + prose / _CHARACTERS_A_TOKEN["text"]
