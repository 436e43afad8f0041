"""One corruption run from preflight to result."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from typing import TYPE_CHECKING

from runbook.load.ask import Asker, Bodies
from runbook.load.bench.clienthealth import ClientHealth, HealthWatch
from runbook.load.bench.senders import httpx_sender
from runbook.load.bench.wire import target, wire_sender
from runbook.load.client import open_client
from runbook.load.control import arm, concluded, needs_control, with_control, without_control
from runbook.load.descriptors import TooManySessionsError, make_room
from runbook.load.preflight import PreflightFailed, preflight, why_dead
from runbook.load.progress import report
from runbook.load.servermetrics import ServerMetrics, sample
from runbook.load.streams import StreamFile
from runbook.load.summary import result_of
from runbook.load.swarm import Swarm
from runbook.load.verdict import Conditions, infra_ends

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    import httpx

    from runbook.load.arguments import Asked
    from runbook.load.options import Options
    from runbook.load.progress import Say
    from runbook.load.results import SessionsResult
    from runbook.load.story import Record

STALL_S = 120.0
"""Silence inside a stream, or before its first byte, after which it counts as a time-out."""


async def run_validation(asked: Asked, say: Say) -> SessionsResult:
    """The sessions and their control arm: the one asked for, else the automatic one where copying errors call for it.

    Raises PreflightFailed before any load.
    """
    try:
        make_room(asked.options.at_once)
    except TooManySessionsError as error:
        raise PreflightFailed(str(error), 2) from error
    if asked.control and asked.control.url:
        await _reach(asked.control.applied(asked.options), asked.api_key)
    result = await run_sessions(asked.options, api_key=asked.api_key, streams=asked.streams, say=say)
    chosen = asked.control or (asked.automatic if needs_control(result) else None)
    if chosen is None or result.corrupt:
        return result
    say(f"control arm: the same sessions {chosen.text}")
    try:
        other = await run_sessions(
            chosen.applied(asked.options), api_key=asked.api_key, streams=None, say=say
        )
    except PreflightFailed as gone:
        return concluded(result, (*result.findings, without_control(str(gone))))
    result = dataclasses.replace(result, details={**result.details, "control": arm(other)})
    return concluded(result, with_control(result, other))


async def _reach(options: Options, api_key: str | None) -> None:
    """Raises PreflightFailed where a run could not begin."""
    async with open_client(options.base_url, api_key=api_key, connections=1) as client:
        await preflight(client, options)


async def run_sessions(
    options: Options, *, api_key: str | None, streams: Path | None, say: Say
) -> SessionsResult:
    """Run the sessions and judge them. Raises PreflightFailed before any load."""
    async with open_client(options.base_url, api_key=api_key, connections=options.at_once + 8) as client:
        await preflight(client, options)
        watch, metrics = HealthWatch(asyncio.get_running_loop()), ServerMetrics()
        with contextlib.closing(StreamFile(streams, options.to_json())) as kept:
            async with asking(client, options, api_key) as asker:
                swarm = Swarm(options, asker, kept)
                with watch.watching():
                    records = await _watched(swarm, client, metrics, say)
        wall_s = time.perf_counter() - swarm.began
        died = await why_dead(client, options) if infra_ends(records) or _cut(records) else ""
    conditions = conditions_of(options, swarm, watch.health(), metrics, wall_s=wall_s, died=died)
    return result_of(options, records, conditions, kept.written, server=metrics.to_json())


def conditions_of(
    options: Options, swarm: Swarm, health: ClientHealth, metrics: ServerMetrics, *, wall_s: float, died: str
) -> Conditions:
    """What was measured beside the sessions, and the limits it is held to."""
    gauge = swarm.gauge
    return Conditions(
        asked=options.at_once,
        peak=gauge.peak(),
        peak_in_flight=gauge.peak_in_flight,
        peak_running=metrics.peak_running,
        first_byte_s=(gauge.first_byte_s(0.5), gauge.first_byte_s(0.99)),
        wall_s=wall_s,
        client_cpu=health.cpu_share,
        lag_p99_s=health.lag_p99_ms / 1e3,
        gap_median_s=gauge.gap_median_s(),
        died=died,
        max_infra=options.max_infra,
        min_concurrency=options.min_concurrency,
        max_client_cpu=options.max_client_cpu,
        stopped=swarm.stopped,
    )


@contextlib.asynccontextmanager
async def asking(client: httpx.AsyncClient, options: Options, api_key: str | None) -> AsyncIterator[Asker]:
    """Over the bare wire for http URLs, with httpx for https; connections are open before the first wave."""
    bodies = Bodies()
    if options.base_url.startswith("http://"):
        to, limit = target(options.base_url, api_key), options.timeout_s
        opening = wire_sender(to, bodies.take, ahead=options.at_once, deadline_s=limit, stall_s=STALL_S)
        async with opening as send:
            yield Asker(send, bodies)
    else:
        yield Asker(httpx_sender(client, bodies.take, deadline_s=options.timeout_s), bodies)


def _cut(records: Sequence[Record]) -> bool:
    """Whether a stream ended early somewhere: a dead server looks like that too."""
    return any(seen.defect.kind == "truncated" for record in records for seen in record.seen)


async def _watched(
    swarm: Swarm, client: httpx.AsyncClient, metrics: ServerMetrics, say: Say
) -> Sequence[Record]:
    """The run, with a word about it and a look at the server's counters once a second."""
    url = swarm.options.metrics_url or "/metrics"
    beside = [asyncio.ensure_future(report(swarm, say)), asyncio.ensure_future(sample(client, url, metrics))]
    try:
        return await swarm.run()
    finally:
        for watching in beside:
            watching.cancel()
