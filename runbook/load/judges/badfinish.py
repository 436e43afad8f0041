"""badfinish: a finish_reason that does not fit the body.

`stop` after a tool call is not one: several correct servers say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange

KNOWN = frozenset(("stop", "length", "tool_calls", "function_call", "content_filter"))
FEW = 0.9
"""`length` below this share of max_tokens came too early."""


def judge(exchange: Exchange) -> Iterator[Defect]:
    for message in _misfits(exchange):
        yield Defect("badfinish", Severity.SOFT, message)


def _misfits(exchange: Exchange) -> Iterator[str]:
    reply = exchange.reply
    reason, tokens = reply.finish_reason, reply.completion_tokens
    yield from (problem.message for problem in reply.problems if problem.kind == "badfinish")
    if reason is not None and reason not in KNOWN:
        yield f"finish_reason {reason[:60]!r}"
    if reason == "tool_calls" and not reply.calls:
        yield "finish_reason 'tool_calls' without a call"
    if reason == "length" and tokens is not None and tokens < FEW * exchange.max_tokens:
        yield f"finish_reason 'length' after {tokens} of {exchange.max_tokens} tokens"
