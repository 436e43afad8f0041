"""Whether the tokens are what they seem: usage against events, the wanted length, the cache and the server's counters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.load.bench.request import RequestRecord


@dataclass(frozen=True, slots=True)
class TokenCheck:
    """Sums over the answered requests of a level.

    `without_usage`: the server sent no usage, so events were counted. `few_tokens`: usage names fewer tokens than
    events came, which cannot be; `many_tokens`: more than were asked for. `off_length`: the output has not the length
    that was asked. `cached` None: the server does not report it.
    """

    prompt: int
    output: int
    events: int
    without_usage: int
    few_tokens: int
    many_tokens: int
    off_length: int
    cached: int | None


def check_tokens(records: Sequence[RequestRecord], output_tokens: int, limit: int) -> TokenCheck:
    """Over the answered requests; `limit` is the max_tokens they were sent with."""
    answered = [r for r in records if r.ok]
    cached = [r.cached_tokens for r in answered if r.cached_tokens is not None]
    return TokenCheck(
        prompt=sum(r.prompt_tokens or 0 for r in answered),
        output=sum(r.output_tokens for r in answered),
        events=sum(len(r.arrivals) for r in answered),
        without_usage=sum(r.completion_tokens is None for r in answered),
        few_tokens=sum(r.output_tokens < len(r.arrivals) for r in answered),
        many_tokens=sum((r.completion_tokens or 0) > limit + 1 for r in answered),
        off_length=sum(r.output_tokens != output_tokens for r in answered),
        cached=sum(cached) if cached else None,
    )
