"""badtool: a tool that was not offered or is not the next one, or the call is missing and something else is there.

SGLang drops calls of unknown tools silently, so a damaged name shows as a missing call: tokens were made, and
nothing of them is to be seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt
from runbook.load.prompts import TOOL_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange

_LEAST = 16
_CHARACTERS_A_TOKEN = 8
"""Of a call's arguments, generously: DeepSeek's tokenizer needs a token for 2 of our characters."""


def judge(exchange: Exchange) -> Iterator[Defect]:
    reply, wanted = exchange.reply, exchange.turn.name
    for call in reply.calls:
        offset = call.arguments.offset(0)
        if call.name not in TOOL_NAMES:
            message = f"the tool {str(call.name)[:60]!r} was not offered"
            yield Defect("badtool", Severity.HARD, message, offset, excerpt(call.arguments.text))
        elif call.name != wanted and not ends_early(exchange, call.name, call.arguments.text):
            message = f"the tool {call.name!r} instead of {wanted!r}"
            yield Defect("badtool", Severity.HARD, message, offset, excerpt(call.arguments.text))
    if not reply.calls and (remains := _remains(exchange)):
        at = reply.content.offset(0)
        # Weak models and servers without a tool parser write calls as text: hard only beside other garbling.
        message = f"no call of {wanted!r}, but one as text"
        yield Defect("badtool", Severity.SOFT, message, at, excerpt(remains))
    if vanished := _vanished(exchange):
        message = f"no call of {wanted!r} and no text, though {vanished} tokens were made: a call was dropped"
        yield Defect("badtool", Severity.HARD, message)


def _vanished(exchange: Exchange) -> int:
    """Tokens of a response that shows nothing, when they are enough to have been the call; else 0."""
    reply = exchange.reply
    shown = reply.calls or reply.content.text.strip() or reply.reasoning.text.strip()
    if shown or reply.finish_reason in (None, "length"):
        return 0
    tokens = reply.completion_tokens or 0
    return tokens if tokens >= max(_LEAST, len(str(exchange.turn.arguments)) // _CHARACTERS_A_TOKEN) else 0


def ends_early(exchange: Exchange, name: str | None, arguments: str) -> bool:
    """Whether the model went straight to `finish` with values of its own session: early, but no corruption."""
    own = {row for record in exchange.script.records for row in record.rows}
    return name == "finish" and any(row in arguments for row in own)


def _remains(exchange: Exchange) -> str:
    """The content of a turn without a call, where it holds the call's arguments as text."""
    text = exchange.reply.content.text
    return text if "{" in text and ('"key"' in text or '"rows"' in text) else ""
