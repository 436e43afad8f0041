"""The throughput bench: a sweep run on the host, judged against the bench of another state."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runbook import probes
from runbook.errors import MeasureError, UsageError
from runbook.model import Bench
from runbook.validations import endpoint_url, options
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from runbook.model import Host, Unit
    from runbook.validations import Jobs

# What a host file gets that says nothing of a bench: the sweep of `python -m runbook.load bench`.
DEFAULT = Bench((1, 8, 32, 64, 80), input_tokens=350, output_tokens=256, repeats=5, max_regression=0.10)
# Options that name files of the machine the load runs on, or nothing of the load itself.
_ELSEWHERE = ("tokenizer", "output-file")


def chosen(spec: Bench, given: Mapping[str, str]) -> Bench:
    """The bench with options of the command line over its own. Raises UsageError for a limit that is no share."""
    load = dict(given)
    limit, accept = load.pop("max-regression", None), load.pop("accept", None)
    if accept is not None and not accept.strip():
        raise UsageError("--accept: should say why a known loss may pass, found nothing")
    if load.pop("output-file", None):
        load["tell-requests"] = "true"  # the file is written here, wherever the load runs
    return spec._replace(
        max_regression=spec.max_regression if limit is None else share(limit),
        accept=accept or spec.accept,
        options={**spec.options, **load},
    )


def share(text: str) -> float:
    """`0.1` of --max-regression; raises UsageError."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise UsageError(f"--max-regression: should be from 0 up to 1, found {text!r}")
    return value


def arguments(host: Host, spec: Bench) -> dict[str, Any]:
    """The options of `python -m runbook.load bench` for a host; those the spec names itself come last and win."""
    worker = generating(host)
    given = spec.options
    levels = {} if given.keys() & {"max-concurrency", "request-rate"} else {"concurrency": _list(spec)}
    return {
        "base-url": endpoint_url(host),
        "model": host.model,
        **levels,
        "random-input-len": spec.input_tokens,
        "random-output-len": spec.output_tokens,
        "repeats": spec.repeats,
        **({"budget": spec.budget_s} if spec.budget_s else {}),
        **({"metrics-url": f"{worker}/metrics", "server-url": worker} if worker else {}),
        **given,
    }


def _list(spec: Bench) -> str:
    return ",".join(str(level) for level in spec.concurrency)


def generating(host: Host) -> str | None:
    """The base URL of the worker that generates what the endpoint answers: a router tells neither counters nor arguments.

    The last unit with a health URL that is not the endpoint (decode, after prefill); None where the endpoint itself is it.
    """
    workers = [unit for unit in host.units if probes.speaks_http(unit.health) and unit is not host.endpoint]
    return _origin(workers[-1]) if workers else None


def _origin(unit: Unit) -> str:
    url = urlsplit(unit.health or "")
    return f"{url.scheme}://{url.netloc}"


def fingerprint(host: Host, spec: Bench, server: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a bench of this spec will have measured, as far as it is known before. Raises UsageError for wrong options."""
    from runbook.load.bench.fingerprint import fingerprint as of
    from runbook.load.bench.options import settings_from
    from runbook.load.refusing import BadArgumentsError

    words = {name: value for name, value in arguments(host, spec).items() if name not in _ELSEWHERE}
    try:
        settings = settings_from(options(words), {})
    except BadArgumentsError as error:
        raise UsageError(f"bench: {error}") from error
    return of(settings.workload, server or {"version": None, "arguments": {}, "gpu": {}})


def expected(host: Host) -> tuple[str, ...]:
    """Fingerprint keys of arguments that the host file declares: a deploy changes them, so they may differ."""
    names = (argument.name.lstrip("-").replace("-", "_") for unit in host.units for argument in unit.args)
    return tuple(f"server.arguments.{name}" for name in names)


def unlike(
    baseline: Mapping[str, Any], current: Mapping[str, Any], expected: Collection[str] = ()
) -> tuple[str, ...]:
    """What keeps a kept result from being compared with a bench of fingerprint `current`, a line each."""
    from runbook.load.bench.fingerprint import differences

    try:
        before = dict(_read(baseline).fingerprint)
    except MeasureError as error:
        return (str(error),)
    # A server that takes no ignore_eos is only found when it is asked.
    ignore_eos = {key: before[key] for key in ("ignore_eos",) if key in before}
    return differences(before, {**ignore_eos, **current}, expected)


def require_like(baseline: Mapping[str, Any], current: Mapping[str, Any], named: str | None) -> None:
    """Raises UsageError where the result that --against names measured something else, with what differs."""
    if why := unlike(baseline, current):
        raise UsageError(f"--against {named}: it measured something else: {'; '.join(why)}")


def measure(
    jobs: Jobs,
    spec: Bench,
    say: Callable[[str, Mapping[str, Any]], None],
    on_request: Callable[[Mapping[str, Any]], None] = lambda request: None,
) -> dict[str, Any]:
    """Run it; the bench result document of docs/architecture.md. Raises MeasureError for what is none.

    `on_request` hears of every request where the spec has the option `tell-requests`.
    """
    result = jobs.load(["bench", *options(arguments(jobs.host, spec))], say, on_request)
    _read(result)
    return result


@dataclass(frozen=True, slots=True)
class Judged:
    """A bench result's comparison with the baseline (None without one), what follows, and both as lines to show.

    The first `aligned` lines of the table are columns; `stacked` are they where those find no room.
    """

    comparison: Mapping[str, Any] | None
    findings: tuple[Finding, ...]
    table: tuple[str, ...]
    aligned: int = 0
    stacked: tuple[str, ...] = ()


def alone(result: Mapping[str, Any]) -> Judged:
    """A bench by itself: what it measured, and whether that is sound. It says nothing about faster or slower."""
    from runbook.load.bench import table

    found = tuple(Finding.from_json(finding) for finding in result["findings"])
    read = _read(result)
    lines, stacked = tuple(table.result_lines(read, reasons=False)), tuple(table.stacked_lines(read))
    return Judged(None, found, lines, 1 + len(read.levels), stacked)


def judge(
    result: Mapping[str, Any],
    baseline: Mapping[str, Any] | None,
    spec: Bench,
    expected: Collection[str] = (),
) -> Judged:
    """Judge a bench by itself, then against its baseline; without a baseline it is inconclusive, never a pass.

    `expected` are keys of the fingerprint that are meant to differ, since they are what was changed.
    """
    from runbook.load.bench import comparison as compare
    from runbook.load.bench import fingerprint as fingerprints
    from runbook.load.bench import table

    own = alone(result)
    if baseline is None or baseline.get("kind") != "bench":
        return _not_compared(own, ("this host has no bench of the state before to compare with",))
    try:
        before = _read(baseline)
    except MeasureError as damaged:
        return _not_compared(own, (f"the kept one is damaged: {damaged}",))
    try:
        comparison = compare.compare(
            before,
            _read(result),
            max_regression=spec.max_regression,
            accept=spec.accept,
            expected=expected,
        )
    except fingerprints.FingerprintMismatch as mismatch:
        return _not_compared(own, mismatch.differences)
    found = (*own.findings, *comparison.findings())
    lines = tuple(table.comparison_lines(comparison, reasons=False))
    return Judged(comparison.to_json(), found, lines, 1 + len(comparison.rows))


def _not_compared(own: Judged, why: tuple[str, ...]) -> Judged:
    missing = Finding("bench", Outcome.INCONCLUSIVE, f"no baseline: {'; '.join(why)}")
    return dataclasses.replace(own, findings=(*own.findings, missing))


def _read(document: Mapping[str, Any]) -> Any:
    """A result document as a value. Raises MeasureError for one that is none."""
    from runbook.load.bench import result as results

    try:
        return results.BenchResult.from_json(document)
    except results.ResultError as error:
        raise MeasureError(f"bench: {error}") from error
