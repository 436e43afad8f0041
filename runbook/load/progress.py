"""What a run says of itself once a second: the wave, its counts by outcome, tokens a second, the slowest session."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runbook.load.saying import Say
    from runbook.load.swarm import Swarm

EVERY_S = 1.0
QUIET_S = 30.0
"""Where lines are kept, a line this long after the last one also when only figures changed."""


class Changes:
    """Tells a line worth keeping in a log from one that only moves figures."""

    def __init__(self) -> None:
        self._last: object = None
        self._at = 0.0

    def new(self, fields: dict[str, Any], now: float) -> bool:
        """Whether another session ended, a wave began, or nothing was worth keeping for half a minute."""
        key = (fields["wave"], fields["counts"])
        if key == self._last and now - self._at < QUIET_S:
            return False
        self._last, self._at = key, now
        return True


async def report(swarm: Swarm, say: Say, every_s: float = EVERY_S) -> None:
    """Say where the run is until cancelled."""
    changes = Changes()
    before, at = swarm.gauge.reads, time.perf_counter()
    while True:
        await asyncio.sleep(every_s)
        reads, now = swarm.gauge.reads, time.perf_counter()
        fields = snapshot(swarm, (reads - before) / (now - at), now)
        say(text_of(fields), **fields, changed=changes.new(fields, now))
        before, at = reads, now


def snapshot(swarm: Swarm, chunks_per_s: float, now: float) -> dict[str, Any]:
    """The run as numbers. `ended` and `counts` are of the wave, `slowest_s` is the age of the oldest session running.

    `tokens_per_s` None: no server counted tokens yet.
    """
    live = list(swarm.live.values())
    of_wave = [record for record in swarm.records if record.wave == swarm.wave]
    a_chunk = tokens_a_chunk(swarm)
    return {
        "wave": swarm.wave + 1,
        "sessions": swarm.options.sessions,
        "ended": len(of_wave),
        "running": len(live),
        "in_flight": swarm.gauge.in_flight,
        "counts": dict(Counter(record.end for record in of_wave).most_common()),
        "corrupt": sum(record.corrupt for record in swarm.records),
        "hard": swarm.hard,
        "chunks_per_s": round(chunks_per_s, 1),
        "tokens_per_s": None if a_chunk is None else round(chunks_per_s * a_chunk, 1),
        "slowest_s": round(max((now - story.began for story in live), default=0.0), 1),
    }


def tokens_a_chunk(swarm: Swarm) -> float | None:
    """Tokens by the server's own count over what was read, of the responses that ended; a chunk is not a token."""
    tokens = sum(record.tokens for record in swarm.records) + sum(
        story.tokens for story in swarm.live.values()
    )
    reads = swarm.gauge.finished_reads
    return tokens / reads if tokens and reads else None


def text_of(fields: dict[str, Any]) -> str:
    """One line for people."""
    ends = ", ".join(f"{end} {count}" for end, count in fields["counts"].items())
    pace = "chunks" if fields["tokens_per_s"] is None else "tokens"
    parts = (
        f"wave {fields['wave']}",
        f"{fields['ended']}/{fields['sessions']} sessions",
        ends,
        f"{fields[f'{pace}_per_s']:.0f} {pace}/s",
        f"slowest {fields['slowest_s']:.0f} s",
    )
    return " · ".join(part for part in parts if part)
