"""Probes: one question each, asked until it holds, until it cannot hold any more, or until its budget is spent.

The scheme of a unit's health URL names the module that asks: `health` for http and https, else the one of that very name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook import kinds
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import TypeGuard

    import tenacity

    from runbook.events import Step
    from runbook.model import Budget


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer: does it hold, what was seen, and is asking again pointless (`final`)?"""

    holds: bool
    text: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """How the asking ended: the last sample, after `attempts` tries and `waited_s` seconds."""

    sample: Sample
    attempts: int
    waited_s: float


def of(url: str) -> ModuleType:
    """The module that asks a health URL: `ask(tunnel, url, timeout_s) -> Sample`."""
    return kinds.named("probes", "health" if speaks_http(url) else url.partition(":")[0], "ask")


def speaks_http(url: str | None) -> TypeGuard[str]:
    """Whether a unit's health URL is one of HTTP, so that its server may tell more at other paths."""
    return url is not None and url.startswith(("http://", "https://"))


def until(
    ask: Callable[[], Sample],
    budget: Budget | Callable[[], Budget],
    *,
    sleep: Callable[[float], None],
    clock: Callable[[], float],
    on_try: Callable[[int, Sample], None] = lambda attempt, sample: None,
) -> Asked:
    """Ask up to `budget.attempts` times, `budget.every_s` apart, until a sample holds or is final.

    A callable budget is looked at anew after each try, since an answer may tell that it takes longer.
    """
    import tenacity  # here, since a plan asks nothing and need not pay for it

    lasting = budget if callable(budget) else lambda: budget
    started = clock()
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda sample: not (sample.holds or sample.final)),
        stop=lambda state: state.attempt_number >= lasting().attempts,
        wait=lambda state: lasting().every_s,
        sleep=sleep,
        after=lambda state: _tell(state, on_try),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        reraise=True,
    )
    sample: Sample = retrying(ask)
    attempts = int(retrying.statistics.get("attempt_number", 1))
    return Asked(sample, attempts, clock() - started)


def _tell(state: tenacity.RetryCallState, on_try: Callable[[int, Sample], None]) -> None:
    # Called after an attempt that will be tried again or was the last; an error of ours is raised, not told.
    if state.outcome is not None and not state.outcome.failed:
        on_try(state.attempt_number, state.outcome.result())


def finding(check: str, subject: str, asked: Asked, budget: Budget) -> Finding:
    """The judgement of an asking: a pass where the last sample holds, else a failure with both numbers."""
    tries = f"try {asked.attempts} of {budget.attempts}, {asked.waited_s:.0f} s of {budget.total_s:.0f} s"
    outcome = Outcome.PASS if asked.sample.holds else Outcome.FAIL
    return Finding(
        check,
        outcome,
        f"{subject}: {asked.sample.text} ({tries})",
        {
            "subject": subject,
            "attempts": asked.attempts,
            "of": budget.attempts,
            "waited_s": round(asked.waited_s, 3),
            "budget_s": budget.total_s,
            "last": asked.sample.text,
        },
    )


def tell_try(step: Step, budget: Budget, attempt: int, sample: Sample) -> None:
    """A try that does not hold yet, as progress of its step."""
    waited = f"{step.elapsed_s():.0f} s of {budget.total_s:.0f} s"
    text = f"try {attempt} of {budget.attempts}, {waited}, last: {sample.text}"
    step.progress(text, attempt=attempt, of=budget.attempts)
