"""The sessions of one client process, from open connections to what they came to."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.load.ask import Asker, Bodies
from runbook.load.bench.clienthealth import ClientHealth, HealthWatch
from runbook.load.bench.senders import httpx_sender
from runbook.load.bench.wire import target, wire_sender
from runbook.load.client import open_client
from runbook.load.part import WHOLE, Part
from runbook.load.progress import report
from runbook.load.streams import MOST_BYTES, StreamFile
from runbook.load.swarm import Swarm

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from runbook.load.gauge import Gauge
    from runbook.load.options import Options
    from runbook.load.saying import Say
    from runbook.load.story import Record

STALL_S = 120.0
"""Silence inside a stream, or before its first byte, after which it counts as a time-out."""


@dataclass(frozen=True, slots=True)
class Portion:
    """What one process is to do. `begin`: the moment (`perf_counter`) at which all processes send first; 0: at once."""

    options: Options
    api_key: str | None
    streams: Path | None
    part: Part = WHOLE
    begin: float = 0.0


@dataclass(frozen=True, slots=True)
class Played:
    """What the sessions came to. `began` and `ended` by `perf_counter`; `stopped` early; `streams` is the file kept, if any.

    `lost` says why it does not hold all that was to be kept.
    """

    records: tuple[Record, ...]
    gauge: Gauge
    health: ClientHealth
    began: float
    ended: float
    stopped: bool
    streams: str | None
    lost: str = ""


async def play_portion(
    portion: Portion, say: Say, started: Callable[[Swarm], None] = lambda swarm: None
) -> Played:
    """Run the sessions of a portion. `started` is given the swarm as it starts, to stop it from outside."""
    options, watch = portion.options, HealthWatch(asyncio.get_running_loop())
    most = MOST_BYTES // portion.part.of  # of all parts together, since they become one file
    with contextlib.closing(StreamFile(portion.streams, options.to_json(), most_bytes=most)) as kept:
        async with _asking(portion) as asker:
            await asyncio.sleep(max(0.0, portion.begin - time.perf_counter()))
            swarm = Swarm(options, asker, kept, portion.part)
            started(swarm)
            with watch.watching():
                records = await _told(swarm, say)
    health, ended = watch.health(), time.perf_counter()
    return Played(
        tuple(records), swarm.gauge, health, swarm.began, ended, swarm.stopped, kept.written, kept.lost
    )


async def _told(swarm: Swarm, say: Say) -> list[Record]:
    """The run, with a word about it once a second."""
    telling = asyncio.ensure_future(report(swarm, say))
    try:
        return list(await swarm.run())
    finally:
        telling.cancel()


@contextlib.asynccontextmanager
async def _asking(portion: Portion) -> AsyncIterator[Asker]:
    """Over the bare wire for http URLs, with httpx for https; connections are open before the first wave."""
    options, bodies = portion.options, Bodies()
    url, limit, slots = options.base_url, options.timeout_s, portion.part.slots(options.at_once)
    if url.startswith("http://"):
        to = target(url, portion.api_key)
        opening = wire_sender(to, bodies.take, ahead=slots, deadline_s=limit, stall_s=STALL_S)
        async with opening as send:
            yield Asker(send, bodies)
    else:
        async with open_client(url, api_key=portion.api_key, connections=slots + 8) as client:
            yield Asker(httpx_sender(client, bodies.take, deadline_s=limit), bodies)
