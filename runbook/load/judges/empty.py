"""empty: tokens were made, and there is neither text nor a call. Out of tokens while thinking is no defect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange


def judge(exchange: Exchange) -> Iterator[Defect]:
    reply = exchange.reply
    tokens = reply.completion_tokens or 0
    thought_it_away = reply.finish_reason == "length" and reply.reasoning.text
    if not reply.content.text.strip() and not reply.calls and tokens > 1 and not thought_it_away:
        yield Defect("empty", Severity.SOFT, f"{tokens} completion tokens, no content and no call")
