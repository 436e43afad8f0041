"""A whole bench, top to bottom: preflight, warm-up, plan, the repeats in turn, the result."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runbook.load.bench.assemble import levels
from runbook.load.bench.fingerprint import fingerprint
from runbook.load.bench.judge import findings
from runbook.load.bench.plan import BenchPlan, Slot, plan_by_budget, plan_by_duration, plan_by_number
from runbook.load.bench.preflight import preflight
from runbook.load.bench.processes import processes
from runbook.load.bench.prompts import Prompts, prompts
from runbook.load.bench.result import BenchResult
from runbook.load.bench.server import server_facts
from runbook.load.bench.slotrun import run_slot
from runbook.load.bench.warmup import Wave, warmup_tokens, wave, wave_requests
from runbook.load.bench.workload import named
from runbook.load.client import open_client
from runbook.load.outcome import worst

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Executor

    import httpx

    from runbook.load.bench.settings import Settings
    from runbook.load.bench.slotrun import SlotRun
    from runbook.load.saying import Say

_OVERTIME = 2.0  # a sweep is stopped at this multiple of its expected time, plus a minute


@dataclass(frozen=True, slots=True)
class Bench:
    """The result and the runs it was made of."""

    result: BenchResult
    runs: tuple[SlotRun, ...]


async def run_bench(settings: Settings, say: Say) -> Bench:
    """Bench an endpoint. Raises PreflightFailed before any load, where the endpoint is not fit for it."""
    started, started_at = time.perf_counter(), time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
    async with open_client(
        settings.base_url,
        api_key=settings.api_key,
        connections=settings.connections,
        read_timeout_s=settings.stall_s,
    ) as client:
        settings = await preflight(client, settings)
        say(announced(settings))
        server = await server_facts(client, settings.server_url)
        made, waves = await _warm_up(client, settings, say)
        plan = plan_of(
            settings, {level: wave.seconds for level, wave in waves.items()}, time.perf_counter() - started
        )
        for line in plan.lines():
            say(line, expected_s=plan.expected_s)
        with processes(settings.processes) as pool:
            runs = await _run(client, settings, made, plan, say, pool)
    measured = levels(runs, settings)
    found = findings(measured)
    result = BenchResult(
        fingerprint=fingerprint(settings.workload, server),
        levels=measured,
        findings=tuple(found),
        outcome=worst(finding.outcome for finding in found),
        wall_s=round(time.perf_counter() - started, 3),
        started_at=started_at,
        slo=settings.slo.to_json() if settings.slo else {},
        input_counted_by="tokenizer" if settings.count_tokens else "estimate",
    )
    return Bench(result, tuple(runs))


def announced(settings: Settings) -> str:
    """What is about to happen and how long it may take, said before the warm-up; the plan after it says it exactly."""
    levels = len(settings.workload.concurrencies)
    times = f"{_number(levels, 'concurrency', 'concurrencies')}, {_number(settings.repeats, 'repeat', 'repeats')} each"
    eos = "" if settings.workload.ignore_eos else "; this server takes no ignore_eos, outputs may end early"
    if settings.duration_s is not None:
        load_s = settings.duration_s * levels * settings.repeats
        return f"{times}: {load_s:.0f} s of load, and a warm-up before it{eos}"
    if settings.requests is not None or settings.budget_s is None:
        return f"{times}: {settings.requests or 'two waves of'} requests each, how long is known after the warm-up{eos}"
    return f"{times}: about {settings.budget_s:.0f} s with the warm-up{eos}"


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def plan_of(settings: Settings, wave_s: Mapping[int, float], spent_s: float) -> BenchPlan:
    """The plan for waves that take `wave_s` seconds; `spent_s` of the budget is gone already."""
    rate, repeats = settings.workload.request_rate, settings.repeats
    if settings.duration_s is not None:
        return plan_by_duration(wave_s, repeats=repeats, duration_s=settings.duration_s)
    if settings.requests is not None or settings.budget_s is None:
        return plan_by_number(wave_s, repeats=repeats, requests=settings.requests, request_rate=rate)
    left_s = max(settings.budget_s - spent_s, 1e-3)
    if rate is None:
        return plan_by_budget(wave_s, repeats=repeats, budget_s=left_s)
    share_s = left_s / (len(wave_s) * repeats) - max(wave_s.values())
    return plan_by_duration(wave_s, repeats=repeats, duration_s=max(share_s, 1.0))


async def _warm_up(
    client: httpx.AsyncClient, settings: Settings, say: Say
) -> tuple[Prompts, dict[int, Wave]]:
    made = prompts(
        secrets.token_hex(8), settings.workload.input_tokens, seed=settings.seed, count=settings.count_tokens
    )
    short = replace(
        settings,
        workload=replace(
            settings.workload, output_tokens=warmup_tokens(settings.workload.output_tokens), request_rate=None
        ),
    )
    waves: dict[int, Wave] = {}
    for level in settings.workload.concurrencies:
        say(f"warm-up at {named(level)}", concurrency=level)
        requests = wave_requests(level)
        run = await run_slot(client, short, made, Slot(requests, -1, requests, 0.0))
        waves[level] = wave(run.records, settings.workload.output_tokens)
        if seen := waves[level].prompt_tokens:
            made = made.adjusted(settings.workload.input_tokens, seen)
    return made, waves


async def _run(
    client: httpx.AsyncClient,
    settings: Settings,
    made: Prompts,
    plan: BenchPlan,
    say: Say,
    pool: Executor | None,
) -> list[SlotRun]:
    """The slots in order; those left when the time has run out by far are not run, and their levels say so."""
    started = time.perf_counter()
    limit_s = _OVERTIME * max(plan.expected_s, plan.budget_s or 0.0) + 60
    runs: list[SlotRun] = []
    for slot in plan.slots:
        if time.perf_counter() - started > limit_s:
            say(f"stopped after {limit_s:.0f} s: twice the expected time", done=len(runs), of=len(plan.slots))
            break
        told = _Telling(say, slot, settings.repeats, started, plan.expected_s, time.perf_counter())
        runs.append(await run_slot(client, settings, made, slot, told, pool))
    return runs


@dataclass(frozen=True, slots=True)
class _Telling:
    """Says where a slot is: how many requests are done, at which rate, how many failed; and where the sweep is in its time."""

    say: Say
    slot: Slot
    repeats: int
    sweep_began: float
    expected_s: float
    began: float

    def __call__(self, done: int, sent: int, failed: int) -> None:
        now = time.perf_counter()
        rate, elapsed = done / max(now - self.began, 1e-3), now - self.sweep_began
        counts = f"{done} of {self.slot.requests or sent} requests, {rate:.1f}/s, " if sent else ""
        failures = f"{failed} failed, " if failed else ""
        self.say(
            f"{named(self.slot.concurrency)}, repeat {self.slot.repeat + 1} of {self.repeats}: "
            f"{counts}{failures}{elapsed:.0f} of {self.expected_s:.0f} s",
            concurrency=self.slot.concurrency, repeat=self.slot.repeat, done=done, sent=sent, failed=failed,
            requests_s=round(rate, 2), elapsed_s=elapsed, whole_s=self.expected_s,
        )  # fmt: skip
