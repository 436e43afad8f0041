"""One repeat of one level: load it, watch this client and the server meanwhile, then read what came."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runbook.load.bench.clienthealth import ClientHealth, worst_of
from runbook.load.bench.concurrency import in_flight
from runbook.load.bench.drive import drive, drive_process, shares
from runbook.load.bench.foreign import foreign_load, miscounted
from runbook.load.bench.parse import record
from runbook.load.bench.server import counters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    import httpx

    from runbook.load.bench.exposition import Counters
    from runbook.load.bench.plan import Slot
    from runbook.load.bench.prompts import Prompts
    from runbook.load.bench.request import RawStream, RequestRecord
    from runbook.load.bench.settings import Settings

_TELL_EVERY_S = 1.0
_GAUGE_EVERY_S = 1.0
_SETTLE_ASKS, _SETTLE_EVERY_S = 5, 0.2
_START_TOGETHER_S = 0.2  # for the processes to open their connections


@dataclass(frozen=True, slots=True)
class SlotRun:
    """The records of one repeat (times in seconds after its start) and what was seen beside it.

    `started` is the moment of the first send by this machine's `time.perf_counter()`; `server` says where the server's
    own counters contradict ours, one text each.
    """

    slot: Slot
    records: tuple[RequestRecord, ...]
    client: ClientHealth
    server: tuple[str, ...] = ()
    started: float = 0.0


async def run_slot(
    client: httpx.AsyncClient,
    settings: Settings,
    prompts: Prompts,
    slot: Slot,
    told: Callable[[int, int, int], None] = lambda done, sent, failed: None,
    pool: Executor | None = None,
) -> SlotRun:
    """Run one repeat, in the processes of `pool` if there is one.

    `told` hears about once a second how many requests are done, sent and failed; of other processes it hears nothing.
    """
    streams: list[RawStream] = []
    urls = settings.metrics_urls
    loads: dict[str, list[float]] = {url: [] for url in urls}
    before = [await counters(client, url) for url in urls]
    beside = [asyncio.create_task(_tell(streams, told)), asyncio.create_task(_watch(client, loads))]
    try:
        found, health = await _drive(client, settings, prompts, slot, streams, pool)
    finally:
        await _stopped(*beside)
    tokens = sum(one.output_tokens for one in found)
    after = [await _settled(client, url, was, tokens) for url, was in zip(urls, before, strict=True)]
    started = min((one.sent for one in found), default=0.0)
    records = tuple(shifted(one, started) for one in found)
    contradictions = _contradictions(before, after, [loads[url] for url in urls], records)
    return SlotRun(slot, records, health, tuple(contradictions), started)


async def _drive(
    client: httpx.AsyncClient,
    settings: Settings,
    prompts: Prompts,
    slot: Slot,
    streams: list[RawStream],
    pool: Executor | None,
) -> tuple[list[RequestRecord], ClientHealth]:
    parts = shares(slot, settings.workload.request_rate, settings.processes if pool else 1)
    if pool is None:
        health = await drive(client, settings, prompts, parts[0], streams)
        return [record(raw) for raw in streams], health
    begin = time.perf_counter() + _START_TOGETHER_S
    running = [pool.submit(drive_process, settings, prompts, part, begin) for part in parts]
    done = await asyncio.gather(*map(asyncio.wrap_future, running))
    return [one for found, _ in done for one in found], worst_of([health for _, health in done])


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


async def _tell(streams: Sequence[RawStream], told: Callable[[int, int, int], None]) -> None:
    while True:
        await asyncio.sleep(_TELL_EVERY_S)
        failed = sum(bool(raw.failure) for raw in streams)
        told(sum(raw.ended > 0 for raw in streams), len(streams), failed)


async def _watch(client: httpx.AsyncClient, loads: Mapping[str, list[float]]) -> None:
    """Sample what runs and waits in each server."""
    while loads:
        await asyncio.sleep(_GAUGE_EVERY_S)
        for url, samples in loads.items():
            load = (await counters(client, url)).load
            if load is not None:
                samples.append(load)


async def _settled(client: httpx.AsyncClient, url: str, before: Counters, tokens: int) -> Counters:
    """The counters after the load; those that have not yet counted what we were answered are asked again, for a second."""
    found = await counters(client, url)
    for _ in range(_SETTLE_ASKS):
        if found.generated is None or found.generated - (before.generated or 0.0) >= tokens:
            break
        await asyncio.sleep(_SETTLE_EVERY_S)
        found = await counters(client, url)
    return found


async def _stopped(*tasks: asyncio.Task[None]) -> None:
    """Cancel until they are done: before Python 3.12 `wait_for` may lose a cancellation (python/cpython#86296)."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=0.1)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()):
            raise error


def _contradictions(
    before: Sequence[Counters],
    after: Sequence[Counters],
    loads: Sequence[Sequence[float]],
    records: Sequence[RequestRecord],
) -> list[str]:
    tokens = sum(r.output_tokens for r in records)
    peak = in_flight(records).peak if records else 0
    found = []
    for earlier, later, load in zip(before, after, loads, strict=True):
        foreign = foreign_load(
            earlier, later, load=load, requests=len(records), tokens=tokens, in_flight=peak
        )
        found += [text for text in (foreign, miscounted(earlier, later, tokens=tokens)) if text]
    return found
