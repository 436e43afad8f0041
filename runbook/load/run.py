"""One corruption run from preflight to result."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING

from runbook.load.client import open_client
from runbook.load.control import arm, concluded, needs_control, with_control, without_control
from runbook.load.crew import play_together
from runbook.load.descriptors import TooManySessionsError, make_room
from runbook.load.part import parts
from runbook.load.portion import Played, Portion, play_portion
from runbook.load.preflight import PreflightFailed, preflight, why_dead
from runbook.load.servermetrics import ServerMetrics, sample
from runbook.load.summary import result_of
from runbook.load.verdict import Conditions, infra_ends

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from runbook.load.arguments import Asked
    from runbook.load.options import Options
    from runbook.load.results import SessionsResult
    from runbook.load.saying import Say
    from runbook.load.story import Record


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
    return concluded(result, with_control(result, other, same_server=chosen.url is None))


async def _reach(options: Options, api_key: str | None) -> None:
    """Raises PreflightFailed where a run could not begin."""
    async with open_client(options.base_url, api_key=api_key, connections=1) as client:
        await preflight(client, options)


async def run_sessions(
    options: Options, *, api_key: str | None, streams: Path | None, say: Say
) -> SessionsResult:
    """Run the sessions and judge them. Raises PreflightFailed before any load."""
    portion, metrics = Portion(options, api_key, streams), ServerMetrics()
    async with open_client(options.base_url, api_key=api_key, connections=8) as client:
        await preflight(client, options)
        sampling = asyncio.ensure_future(sample(client, options.metrics_url or "/metrics", metrics))
        try:
            played = await _play(portion, say)
        finally:
            sampling.cancel()
        doubtful = infra_ends(played.records) or _cut(played.records)
        died = await why_dead(client, options) if doubtful else ""
    conditions = conditions_of(options, played, metrics, died)
    return result_of(options, played.records, conditions, played.streams, server=metrics.to_json())


async def _play(portion: Portion, say: Say) -> Played:
    """In this process, or in as many as the sessions at once call for."""
    shares = parts(portion.options)
    return await (play_portion(portion, say) if len(shares) == 1 else play_together(portion, shares, say))


def conditions_of(options: Options, played: Played, metrics: ServerMetrics, died: str) -> Conditions:
    """What was measured beside the sessions, and the limits it is held to."""
    gauge = played.gauge
    return Conditions(
        asked=options.at_once,
        peak=gauge.peak(),
        peak_in_flight=gauge.peak_in_flight,
        peak_running=metrics.peak_running,
        first_byte_s=(gauge.first_byte_s(0.5), gauge.first_byte_s(0.99)),
        wall_s=played.ended - played.began,
        client_cpu=played.health.cpu_share,
        lag_p99_s=played.health.lag_p99_ms / 1e3,
        gap_median_s=gauge.gap_median_s(),
        died=died,
        max_infra=options.max_infra,
        min_concurrency=options.min_concurrency,
        max_client_cpu=options.max_client_cpu,
        stopped=played.stopped,
        lost=played.lost,
        turns=2 * options.rounds + 1,
    )


def _cut(records: Sequence[Record]) -> bool:
    """Whether a stream ended early somewhere: a dead server looks like that too."""
    return any(seen.defect.kind == "truncated" for record in records for seen in record.seen)
