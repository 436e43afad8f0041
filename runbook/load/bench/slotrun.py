"""One repeat of one level: load it, watch this client and the server meanwhile, then read what came."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from runbook.load.bench.arrivals import scheduled
from runbook.load.bench.clienthealth import ClientHealth, HealthWatch
from runbook.load.bench.concurrency import in_flight
from runbook.load.bench.foreign import foreign_load, miscounted
from runbook.load.bench.measure import closed_loop, open_loop
from runbook.load.bench.parse import record
from runbook.load.bench.senders import sender_of
from runbook.load.bench.server import counters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import httpx

    from runbook.load.bench.exposition import Counters
    from runbook.load.bench.plan import Slot
    from runbook.load.bench.prompts import Prompts
    from runbook.load.bench.request import RawStream, RequestRecord
    from runbook.load.bench.settings import Settings

_TELL_EVERY_S = 1.0
_GAUGE_EVERY_S = 2.0


@dataclass(frozen=True, slots=True)
class SlotRun:
    """The records of one repeat (times in seconds after its start) and what was seen beside it.

    `server` says where the server's own counters contradict ours, one text each.
    """

    slot: Slot
    records: tuple[RequestRecord, ...]
    client: ClientHealth
    server: tuple[str, ...] = ()


async def run_slot(
    client: httpx.AsyncClient,
    settings: Settings,
    prompts: Prompts,
    slot: Slot,
    told: Callable[[int, int], None] = lambda done, sent: None,
) -> SlotRun:
    """Run one repeat. `told` hears about once a second how many requests are done and sent."""
    streams: list[RawStream] = []
    busiest: dict[str, float] = {}
    urls = settings.metrics_urls
    watch = HealthWatch(asyncio.get_running_loop())
    before = [await counters(client, url) for url in urls]
    started = time.perf_counter()
    beside = [asyncio.create_task(_tell(streams, told)), asyncio.create_task(_watch(client, urls, busiest))]
    try:
        with watch.watching():
            await _load(client, settings, prompts, slot, streams)
    finally:
        await _stopped(*beside)
    after = [await counters(client, url) for url in urls]
    records = tuple(shifted(record(raw), started) for raw in streams)
    contradictions = _contradictions(before, after, [busiest.get(url) for url in urls], records)
    return SlotRun(slot, records, watch.health(), tuple(contradictions))


def shifted(found: RequestRecord, start: float) -> RequestRecord:
    """The same record with its times counted from `start`."""
    return replace(
        found,
        intended=found.intended - start,
        sent=found.sent - start,
        ended=found.ended - start,
        first_byte=None if found.first_byte is None else found.first_byte - start,
        arrivals=tuple(stamp - start for stamp in found.arrivals),
    )


async def _load(
    client: httpx.AsyncClient, settings: Settings, prompts: Prompts, slot: Slot, streams: list[RawStream]
) -> None:
    label = f"{slot.concurrency}/{slot.repeat}"

    def body(index: int) -> dict[str, Any]:
        return settings.workload.body(prompts.prompt(f"{label}/{index}"))

    send = sender_of(client, settings, body)
    rate = settings.workload.request_rate
    if rate is not None:
        times = scheduled(
            rate, f"{settings.seed}/{label}", requests=slot.requests, duration_s=slot.duration_s
        )
        await open_loop(send, streams, times=times, concurrency=slot.concurrency)
    else:
        until = None if slot.duration_s is None else time.perf_counter() + slot.duration_s
        await closed_loop(send, streams, concurrency=slot.concurrency, requests=slot.requests, until=until)


async def _tell(streams: Sequence[RawStream], told: Callable[[int, int], None]) -> None:
    while True:
        await asyncio.sleep(_TELL_EVERY_S)
        told(sum(raw.ended > 0 for raw in streams), len(streams))


async def _watch(client: httpx.AsyncClient, urls: Sequence[str], busiest: dict[str, float]) -> None:
    """Keep the most that ran and waited in each server at once."""
    while urls:
        for url in urls:
            load = (await counters(client, url)).load
            if load is not None:
                busiest[url] = max(load, busiest.get(url, 0.0))
        await asyncio.sleep(_GAUGE_EVERY_S)


async def _stopped(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome


def _contradictions(
    before: Sequence[Counters],
    after: Sequence[Counters],
    busiest: Sequence[float | None],
    records: Sequence[RequestRecord],
) -> list[str]:
    tokens = sum(r.output_tokens for r in records)
    peak = in_flight(records).peak if records else 0
    found = []
    for earlier, later, most in zip(before, after, busiest, strict=True):
        foreign = foreign_load(
            earlier, later, busiest=most, requests=len(records), tokens=tokens, in_flight=peak
        )
        found += [text for text in (foreign, miscounted(earlier, later, tokens=tokens)) if text]
    return found
