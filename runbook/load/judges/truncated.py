"""truncated: the stream ended before it was over: no finish_reason, no [DONE], a cut event, a cut body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange


def judge(exchange: Exchange) -> Iterator[Defect]:
    reply = exchange.reply
    if reply.error is not None:
        return
    for problem in reply.problems:
        if problem.kind == "truncated":
            yield Defect("truncated", Severity.HARD, problem.message, problem.offset)
    missing = [
        what
        for what, absent in (
            ("no finish_reason", reply.finish_reason is None),
            ("no [DONE]", not reply.done),
            ("a body cut off", exchange.cut),
        )
        if absent
    ]
    if missing:
        yield Defect("truncated", Severity.HARD, f"the stream ended with {', '.join(missing)}")
