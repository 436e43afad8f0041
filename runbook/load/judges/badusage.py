"""badusage: token counts that cannot be: more than the limit, a total that is no sum, negative or no numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.load.defects import Defect, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.load.exchange import Exchange

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def judge(exchange: Exchange) -> Iterator[Defect]:
    usage = exchange.reply.usage
    for message in impossible(usage, exchange.max_tokens) if usage else ():
        yield Defect("badusage", Severity.HARD, message)


def impossible(usage: Mapping[str, Any], max_tokens: int) -> Iterator[str]:
    """What is wrong with the counts; a count that is not given is not wrong."""
    given = {name: usage[name] for name in _COUNTS if usage.get(name) is not None}
    if any(not isinstance(count, int) or isinstance(count, bool) or count < 0 for count in given.values()):
        yield f"usage counts are no counts: {given}"[:200]
        return
    completion = given.get("completion_tokens")
    if completion is not None and completion > max_tokens:
        yield f"{completion} completion tokens with max_tokens {max_tokens}"
    reasoning = _reasoning(usage)
    beyond = len(given) == len(_COUNTS) and given["total_tokens"] - given["prompt_tokens"] - completion
    if beyond and beyond != reasoning:
        yield f"total_tokens is no sum: {given}"[:200]
    if completion is not None and reasoning is not None and not beyond and reasoning > completion:
        yield f"{reasoning} reasoning tokens of {completion} completion tokens"


def _reasoning(usage: Mapping[str, Any]) -> int | None:
    details = usage.get("completion_tokens_details")
    count = (details if isinstance(details, dict) else usage).get("reasoning_tokens")
    return count if isinstance(count, int) else None
