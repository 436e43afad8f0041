"""Warm-up: one wave of short requests a level, not counted. It compiles and captures what the server does lazily, tells
how long a wave takes and how many tokens a prompt really has."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.load.bench.request import RequestRecord

_UNCAPPED_WAVE = 8


def wave_requests(concurrency: int) -> int:
    """Requests of a wave: one a slot; a few where there is no limit."""
    return concurrency or _UNCAPPED_WAVE


def warmup_tokens(output_tokens: int) -> int:
    """A quarter of the length: enough to tell the pace."""
    return min(output_tokens, max(8, output_tokens // 4))


@dataclass(frozen=True, slots=True)
class Wave:
    """What the warm-up of a level told; `seconds` is a full wave's expected time, `prompt_tokens` None: no usage."""

    seconds: float
    prompt_tokens: int | None


def wave(records: Sequence[RequestRecord], output_tokens: int) -> Wave:
    """A full wave from a short one: the slowest first token, and the slowest pace times the full length."""
    answered = [r for r in records if r.ok]
    if not answered:
        longest = max((r.ended - r.sent for r in records), default=0.0)
        return Wave(max(longest, 1e-3), None)
    first = max(r.ttft for r in answered)
    pace = max((r.tpot or 0.0) for r in answered)
    counted = [r.prompt_tokens for r in answered if r.prompt_tokens is not None]
    return Wave(
        max(first + pace * (output_tokens - 1), 1e-3),
        round(statistics.median(counted)) if counted else None,
    )
