"""The runs of all repeats → levels → the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.bench.clienthealth import pooled
from runbook.load.bench.judge import failure_problem, token_problems
from runbook.load.bench.metrics import failures_by_kind, latencies, repeat_figures
from runbook.load.bench.result import Level
from runbook.load.bench.tokens import TokenCheck, check_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runbook.load.bench.clienthealth import ClientHealth
    from runbook.load.bench.metrics import Latencies, RepeatFigures
    from runbook.load.bench.settings import Settings
    from runbook.load.bench.slotrun import SlotRun


def levels(runs: Sequence[SlotRun], settings: Settings) -> tuple[Level, ...]:
    """One level a concurrency, in the order asked; a repeat without any request is left out and said."""
    return tuple(
        level([run for run in runs if run.slot.concurrency == concurrency], concurrency, settings)
        for concurrency in settings.workload.concurrencies
    )


def level(runs: Sequence[SlotRun], concurrency: int, settings: Settings) -> Level:
    """The figures of one concurrency over its repeats."""
    records = [record for run in runs for record in run.records]
    is_open = settings.workload.request_rate is not None
    figures = [repeat_figures(run.records, settings.slo, open_loop=is_open) for run in runs if run.records]
    workload = settings.workload
    shown, check = latencies(records), check_tokens(records, workload.output_tokens, workload.limit)
    client = pooled([run.client for run in runs])
    failures = failures_by_kind(records)
    answered = len(records) - sum(failures.values())
    problems = [
        failure_problem(failures, len(records)),
        _missing(len(figures), settings.repeats),
        *token_problems(check, answered),
        *_seen(runs, client, shown, settings),
    ]
    return Level(
        concurrency=concurrency,
        output_tok_s=_rates(f.output_tok_s for f in figures),
        requests=len(records),
        failures=failures,
        ttft_ms=shown.ttft_ms,
        itl_ms=shown.itl_ms,
        itl_request_ms=shown.itl_request_ms,
        tpot_ms=shown.tpot_ms,
        e2e_ms=shown.e2e_ms,
        total_tok_s=_rates(f.total_tok_s for f in figures),
        requests_s=_rates(f.requests_s for f in figures),
        steady_tok_s=_rates(f.steady_tok_s for f in figures),
        goodput=_rates(f.goodput for f in figures if f.goodput is not None),
        steady=figures[0].steady_s if figures else (0.0, 0.0),
        mean_concurrency=_mean(figures),
        peak_concurrency=max((f.peak_concurrency for f in figures), default=0),
        tokens=_tokens(check, answered),
        client={"cpu_share": round(client.cpu_share, 4), "lag_p99_ms": round(client.lag_p99_ms, 3)},
        problems=tuple(dict.fromkeys(filter(None, problems))),
    )


def _missing(repeats: int, wanted: int) -> str:
    return f"{repeats} of {wanted} repeats were run" if repeats < wanted else ""


def _seen(
    runs: Iterable[SlotRun], client: ClientHealth, shown: Latencies, settings: Settings
) -> Iterable[str]:
    """What the repeats say against themselves: a client at its limit, the first foreign request."""
    gap = shown.itl_request_ms.get("p50")  # of pooled gaps the median is 0 where a server merges events
    bound = client.bound(gap, max_cpu=settings.max_cpu, max_lag=settings.max_lag)
    yield f"{bound}; {_remedy(client, settings)}" if bound else ""
    yield next((text for run in runs for text in run.server), "")


def _remedy(client: ClientHealth, settings: Settings) -> str:
    if client.cpu_share > settings.max_cpu:
        return f"--processes {settings.processes + 1} or more share it"
    return (
        "run it where cores are idle or on the host itself, or allow more: --option client-lag=SHARE "
        f"(client_lag in a host file's bench), now {settings.max_lag:g}"
    )


def _tokens(check: TokenCheck, answered: int) -> dict[str, float | None]:
    return {
        "prompt": check.prompt,
        "output": check.output,
        "events": check.events,
        "cached": check.cached,
        "per_request": check.output / answered if answered else None,
        "without_usage": check.without_usage,
        "off_length": check.off_length,
    }


def _rates(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(round(value, 4) for value in values)


def _mean(figures: Sequence[RepeatFigures]) -> float:
    return round(sum(f.mean_concurrency for f in figures) / len(figures), 3) if figures else 0.0
