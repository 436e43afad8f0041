"""One process's share of a repeat: sends its requests and keeps what came, in this process or in one of several."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook.load.bench.arrivals import scheduled
from runbook.load.bench.clienthealth import ClientHealth, HealthWatch
from runbook.load.bench.measure import closed_loop, open_loop
from runbook.load.bench.parse import record
from runbook.load.bench.senders import sending
from runbook.load.client import open_client

if TYPE_CHECKING:
    import httpx

    from runbook.load.bench.measure import Send
    from runbook.load.bench.plan import Slot
    from runbook.load.bench.prompts import Prompts
    from runbook.load.bench.request import RawStream, RequestRecord
    from runbook.load.bench.settings import Settings


@dataclass(frozen=True, slots=True)
class Share:
    """What one process sends of a slot; `label` makes its prompts and arrivals unlike those of every other share."""

    label: str
    concurrency: int
    requests: int
    duration_s: float | None
    request_rate: float | None


def shares(slot: Slot, request_rate: float | None, processes: int) -> list[Share]:
    """A slot parted over at most `processes`: whole slots each, requests in proportion, and the rate.

    Parts of a Poisson process are Poisson processes whose rates add up.
    """
    parts = min(processes, slot.concurrency or processes)
    caps = _parted(slot.concurrency, [1] * parts)
    requests = _parted(slot.requests, caps if slot.concurrency else [1] * parts)
    rate = None if request_rate is None else request_rate / parts
    return [
        Share(f"{slot.concurrency}/{slot.repeat}/{part}", caps[part], requests[part], slot.duration_s, rate)
        for part in range(parts)
    ]


async def drive(
    client: httpx.AsyncClient,
    settings: Settings,
    prompts: Prompts,
    share: Share,
    streams: list[RawStream],
    *,
    begin: float = 0.0,
) -> ClientHealth:
    """Send a share from the `time.perf_counter()` moment `begin` on; `streams` is filled meanwhile."""

    def body(index: int) -> dict[str, Any]:
        ready = first.pop(index, None)
        return ready or settings.workload.body(prompts.prompt(f"{share.label}/{index}"))

    first: dict[int, dict[str, Any]] = {}
    first |= {index: body(index) for index in range(_ahead(prompts, share))}
    watch = HealthWatch(asyncio.get_running_loop())
    async with sending(client, settings, body, ahead=share.concurrency) as send:
        await asyncio.sleep(max(0.0, begin - time.perf_counter()))
        with watch.watching():
            await _send(send, share, streams, f"{settings.seed}/{share.label}")
    return watch.health()


def _ahead(prompts: Prompts, share: Share) -> int:
    """How many prompts are made before the load. The first wave goes out at one moment: making its prompts then would
    delay its last request. A tokenizer takes a millisecond a prompt, so with one all of them are, where their number is known.
    """
    return max(share.concurrency, share.requests) if prompts.exact else share.concurrency


def drive_process(
    settings: Settings, prompts: Prompts, share: Share, begin: float
) -> tuple[list[RequestRecord], ClientHealth]:
    """`drive` in a process of its own, and the records it gave."""

    async def run() -> ClientHealth:
        async with open_client(
            settings.base_url,
            api_key=settings.api_key,
            connections=settings.connections,
            read_timeout_s=settings.stall_s,
        ) as client:
            return await drive(client, settings, prompts, share, streams, begin=begin)

    streams: list[RawStream] = []
    health = asyncio.run(run())
    return [record(raw) for raw in streams], health


async def _send(send: Send, share: Share, streams: list[RawStream], seed: str) -> None:
    if share.request_rate is not None:
        times = scheduled(share.request_rate, seed, requests=share.requests, duration_s=share.duration_s)
        await open_loop(send, streams, times=times, concurrency=share.concurrency)
    else:
        until = None if share.duration_s is None else time.perf_counter() + share.duration_s
        await closed_loop(send, streams, concurrency=share.concurrency, requests=share.requests, until=until)


def _parted(whole: int, weights: list[int]) -> list[int]:
    """`whole` in parts by weight that sum to it; the first ones take what is over."""
    parts = [whole * weight // sum(weights) for weight in weights]
    return [part + (place < whole - sum(parts)) for place, part in enumerate(parts)]
