"""The throughput bench: a sweep run on the host, judged against the bench of the release before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook.validations import endpoint_url, options
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runbook.model import Bench
    from runbook.validations import Jobs


def measure(jobs: Jobs, spec: Bench, say: Callable[[str, Mapping[str, Any]], None]) -> dict[str, Any]:
    """Run it; the bench result document of docs/architecture.md."""
    args: dict[str, Any] = {
        "base-url": endpoint_url(jobs.host),
        "model": jobs.host.model,
        "concurrency": ",".join(str(level) for level in spec.concurrency),
        "random-input-len": spec.input_tokens,
        "random-output-len": spec.output_tokens,
        "repeats": spec.repeats,
        **({"budget": spec.budget_s} if spec.budget_s else {}),
        **spec.options,
    }
    return jobs.load(["bench", *options(args)], say)


@dataclass(frozen=True, slots=True)
class Judged:
    """A bench result, its comparison with the baseline (None without one), and what follows."""

    result: Mapping[str, Any]
    comparison: Mapping[str, Any] | None
    findings: tuple[Finding, ...]
    table: tuple[str, ...]


def judge(result: Mapping[str, Any], baseline: Mapping[str, Any] | None, spec: Bench) -> Judged:
    """Judge a bench by itself, then against its baseline; without a baseline it is inconclusive, never a pass."""
    from runbook.load.bench import comparison as compare
    from runbook.load.bench import fingerprint, table
    from runbook.load.bench import result as results

    current = results.BenchResult.from_json(result)
    own = tuple(Finding.from_json(finding) for finding in result["findings"])
    if baseline is None:
        missing = Finding(
            "bench",
            Outcome.INCONCLUSIVE,
            "no baseline: this host has no bench of the state before to compare with",
        )
        return Judged(result, None, (*own, missing), tuple(table.result_lines(current)))
    before = results.BenchResult.from_json(baseline)
    try:
        comparison = compare.compare(before, current, max_regression=spec.max_regression, accept=spec.accept)
    except fingerprint.FingerprintMismatch as mismatch:
        return Judged(
            result,
            None,
            (*own, Finding("bench", Outcome.INCONCLUSIVE, str(mismatch))),
            tuple(table.result_lines(current)),
        )
    return Judged(
        result,
        comparison.to_json(),
        (*own, *comparison.findings()),
        tuple(table.comparison_lines(comparison)),
    )
