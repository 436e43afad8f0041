"""merged: two responses or calls in one: a second id or name at an index, an id twice, two JSON values, too many calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange


def judge(exchange: Exchange) -> Iterator[Defect]:
    calls = exchange.reply.calls
    for problem in exchange.reply.problems:
        if problem.kind == "merged":
            yield Defect("merged", Severity.HARD, problem.message, problem.offset)
    ids = [call.id for call in calls if call.id]
    if len(set(ids)) != len(ids):
        yield Defect("merged", Severity.HARD, "two calls with one id", calls[-1].arguments.offset(0))
    if len(calls) > 1:
        names = ", ".join(str(call.name)[:40] for call in calls[:4])
        message = f"{len(calls)} calls where one was asked for: {names}"
        yield Defect("merged", Severity.HARD, message, calls[1].arguments.offset(0))
    for call in calls:
        if (at := second_value_at(call.arguments.text)) is not None:
            message = f"{call.arguments.name}: a second JSON value after the first"
            offset = call.arguments.offset(at)
            yield Defect("merged", Severity.HARD, message, offset, excerpt(call.arguments.text, at))


def second_value_at(text: str) -> int | None:
    """Where another JSON object or array starts after a whole first one; None where none does."""
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return None
    rest = text.lstrip()[end:].lstrip()
    return len(text) - len(rest) if rest[:1] in ("{", "[") else None
