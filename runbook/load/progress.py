"""What a run says of itself once a second: counts by outcome, tokens a second, the slowest session."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from runbook.load.swarm import Swarm

EVERY_S = 1.0


class Say(Protocol):
    def __call__(self, text: str, /, **fields: Any) -> None: ...


async def report(swarm: Swarm, say: Say, every_s: float = EVERY_S) -> None:
    """Say where the run is until cancelled."""
    before, at = swarm.gauge.reads, time.perf_counter()
    while True:
        await asyncio.sleep(every_s)
        reads, now = swarm.gauge.reads, time.perf_counter()
        fields = snapshot(swarm, (reads - before) / (now - at), now)
        say(text_of(fields), **fields)
        before, at = reads, now


def snapshot(swarm: Swarm, chunks_per_s: float, now: float) -> dict[str, Any]:
    """The run as numbers. `slowest_s` is the age of the oldest session still running."""
    live = list(swarm.live.values())
    ends = Counter(record.end for record in swarm.records)
    return {
        "wave": max((story.wave for story in live), default=0) + 1,
        "sessions": swarm.options.sessions * max(1, swarm.options.waves),
        "ended": len(swarm.records),
        "running": len(live),
        "in_flight": swarm.gauge.in_flight,
        "counts": dict(ends.most_common()),
        "corrupt": sum(record.corrupt for record in swarm.records),
        "chunks_per_s": round(chunks_per_s, 1),
        "slowest_s": round(max((now - story.began for story in live), default=0.0), 1),
    }


def text_of(fields: dict[str, Any]) -> str:
    """One line for people."""
    ends = ", ".join(f"{end} {count}" for end, count in fields["counts"].items())
    parts = (
        f"{fields['ended']}/{fields['sessions']} sessions",
        f"wave {fields['wave']}",
        ends,
        f"{fields['chunks_per_s']:.0f} chunks/s",
        f"slowest {fields['slowest_s']:.0f} s",
    )
    return " · ".join(part for part in parts if part)
