"""A level's figures → what keeps it from proving anything, and the findings of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.bench.workload import named
from runbook.load.outcome import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runbook.load.bench.result import Level
    from runbook.load.bench.tokens import TokenCheck

MAX_FAILURES = 0.01
_MAX_CACHED = 0.10


def token_problems(check: TokenCheck, answered: int) -> list[str]:
    """What is wrong with the tokens of a level of `answered` requests, with both numbers."""
    problems = []
    if check.few_tokens:
        problems.append(
            f"usage names fewer tokens than events came in {check.few_tokens} of {answered} requests"
        )
    if check.many_tokens:
        problems.append(
            f"usage names more tokens than were asked for in {check.many_tokens} of {answered} requests"
        )
    if check.cached and check.cached > _MAX_CACHED * check.prompt:
        problems.append(f"warm prefix cache: {check.cached} of {check.prompt} prompt tokens were cached")
    if check.without_usage:
        problems.append(
            f"no usage in {check.without_usage} of {answered} requests, and an event is not a token"
        )
    return problems


def failure_problem(failures: Mapping[str, int], requests: int) -> str:
    """Too many failed requests, with both numbers and the kinds; empty up to 1 %."""
    failed = sum(failures.values())
    if failed <= MAX_FAILURES * requests:
        return ""
    return f"{failed} of {requests} requests failed ({_kinds(failures)}), at most {MAX_FAILURES:.0%} may"


def findings(levels: Iterable[Level]) -> list[Finding]:
    """One finding a level; of no level, one that says that nothing was measured."""
    found = [_finding(level) for level in levels]
    return found or [Finding("bench", Outcome.INCONCLUSIVE, "no level was measured", {})]


def _finding(level: Level) -> Finding:
    where = named(level.concurrency)
    evidence = {
        "concurrency": level.concurrency,
        "requests": level.requests,
        "failures": dict(level.failures),
        "problems": list(level.problems),
    }
    if failed := failure_problem(level.failures, level.requests):
        return Finding("bench", Outcome.FAIL, f"{where}: {failed}", evidence)
    if level.problems:
        return Finding("bench", Outcome.INCONCLUSIVE, f"{where}: {'; '.join(level.problems)}", evidence)
    rest = (
        f"{sum(level.failures.values())} failed ({_kinds(level.failures)})"
        if level.failures
        else "none failed"
    )
    return Finding("bench", Outcome.PASS, f"{where}: {level.requests} requests, {rest}", evidence)


def _kinds(failures: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} × {count}" for kind, count in failures.items())
