"""From records and conditions of a run to its result. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.load.defects import Severity
from runbook.load.outcome import worst
from runbook.load.results import SessionsResult, corruption_line, wall_line
from runbook.load.statistics import upper_bound
from runbook.load.verdict import (
    Conditions,
    by_round,
    by_wave,
    client_wait,
    counts,
    findings,
    finished,
    infra_ends,
    judged,
    with_severity,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runbook.load.options import Options
    from runbook.load.story import Record


def result_of(
    options: Options,
    records: Sequence[Record],
    conditions: Conditions,
    streams: str | None,
    server: Mapping[str, Any] | None = None,
) -> SessionsResult:
    """The result document's value. Pure."""
    done, ends = finished(records), counts(records)
    corrupt = sum(record.corrupt for record in records)
    found = findings(records, conditions)
    tokens = sum(record.tokens or record.chunks for record in records)
    return SessionsResult(
        name=options.tag,
        outcome=worst(finding.outcome for finding in found),
        sessions=len(records),
        rounds=options.rounds,
        counts=ends,
        corrupt=corrupt,
        infra=len(infra_ends(records)),
        upper_95=upper_bound(corrupt, len(judged(records))),
        judged=len(judged(records)),
        wall_s=round(conditions.wall_s, 3),
        peak_concurrency=conditions.peak,
        tokens_per_s=round(tokens / max(conditions.wall_s, 1e-9), 1),
        lines=(wall_line(conditions.wall_s, ends), corruption_line(corrupt, len(done), len(records))),
        findings=found,
        waves=tuple(by_wave(records)),
        streams=streams,
        finished=len(done),
        slips=len(with_severity(records, Severity.RATE)),
        soft=len(with_severity(records, Severity.SOFT)),
        by_round=by_round(records),
        details=details_of(options, records, conditions, server or {}),
    )


def details_of(
    options: Options, records: Sequence[Record], conditions: Conditions, server: Mapping[str, Any]
) -> dict[str, Any]:
    """Further measurements. `prompt_tokens` is what the filler came to, by the server's own count."""
    prompts = sorted(record.prompt_tokens for record in records if record.prompt_tokens)
    return {
        "seed": options.seed,
        "asked_concurrency": options.at_once,
        "peak_in_flight": conditions.peak_in_flight,
        "client_cpu": round(conditions.client_cpu, 3),
        "client_wait": round(client_wait(records), 3),
        "first_byte_s": list(conditions.first_byte_s),
        "tokens_counted_by": "chunks" if any(record.without_usage for record in records) else "usage",
        "filler_counted_by": options.tokenizer or "estimate",
        "prompt_tokens": prompts[len(prompts) // 2] if prompts else None,
        "server": dict(server),
    }
