"""The corruption validation: N agent sessions with known right answers, run on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from runbook import probes
from runbook.errors import LoadRefusedError
from runbook.validations import endpoint_url, options
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runbook.model import Host, Sessions
    from runbook.validations import Jobs


def measure(jobs: Jobs, spec: Sessions, say: Callable[[str, Mapping[str, Any]], None]) -> dict[str, Any]:
    """Run it; the sessions result document of docs/architecture.md."""
    args = {
        "base-url": endpoint_url(jobs.host),
        "model": jobs.host.model,
        "sessions": spec.sessions,
        "rounds": spec.rounds,
        "ctx": spec.ctx,
        "max-tokens": spec.max_tokens,
        "timeout": spec.timeout_s,
        "tag": spec.name,
        **({"metrics-url": metrics} if (metrics := _metrics_url(jobs.host)) else {}),
        **spec.options,
    }
    arguments = options(args)
    _require_known(jobs.host, spec, arguments)
    return jobs.load(["repro", *arguments], say)


def _require_known(host: Host, spec: Sessions, given: Sequence[str]) -> None:
    """Options of the host file that the load generator has not: one line here, before anything is sent there."""
    from runbook.load import arguments, refusing

    try:
        refusing.parsed(given, arguments.add_arguments)
    except refusing.BadArgumentsError as error:
        raise LoadRefusedError(f"{host.source}: validation {spec.name}: {error}") from error


def _metrics_url(host: Host) -> str | None:
    """Where the server that generates counts what it runs: a router before it has no such counters."""
    health = next(
        (
            unit.health
            for unit in reversed(host.units)
            if probes.speaks_http(unit.health) and unit is not host.endpoint
        ),
        None,
    )
    return health and urljoin(health, "/metrics")


def judge(result: Mapping[str, Any]) -> tuple[Finding, ...]:
    """One finding for the run, with both numbers and the bound, then what the run itself found wrong."""
    name = f"validation:{result['name']}"
    bound = result["upper_95"]
    finished = result.get("finished", result["sessions"])
    message = f"{result['corrupt']} of {finished} sessions corrupt"
    if finished != result["sessions"]:
        message += f" ({result['sessions']} asked for, stopped early)"
    if (
        bound is not None and not result["corrupt"]
    ):  # a bound says how sure a clean run is; a corrupt one needs none
        message += f", true rate below {bound:.2%} with 95 % confidence"
    if result["infra"]:
        message += f", {result['infra']} lost to infrastructure"
    outcome = Outcome(result["outcome"])
    evidence = {
        "counts": result["counts"],
        "peak_concurrency": result["peak_concurrency"],
        "wall_s": result["wall_s"],
    }
    found = tuple(Finding.from_json(finding) for finding in result["findings"])
    return (Finding(name, outcome, message, evidence), *found)
