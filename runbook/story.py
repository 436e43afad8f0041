"""What one rollout did, gathered while it goes, so that every end can be told: document, audit record, exit code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook.errors import RunbookError
from runbook.measured import Measured
from runbook.verdict import Finding, Outcome, worst

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping, Sequence

    from runbook.course import Course
    from runbook.events import StepEnded
    from runbook.plan import Plan

SCHEMA = 1
_LONGEST_DETAIL = 2000


@dataclass
class Story:
    """One rollout of one host. Filled by rollout.py; `error` is what ended it early, if anything did.

    `settled`: nothing of it is under way on the host any more once its record is kept.
    """

    action: str
    host: str
    rollout: str
    steps: Sequence[StepEnded]
    findings: Sequence[Finding]
    plan: Plan | None = None
    release: str | None = None
    rolled_back_to: str | None = None
    measured: Measured = field(default_factory=Measured)
    audit: Mapping[str, Any] | None = None
    error: BaseException | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    courses: Mapping[str, Course] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    settled: bool = False

    @property
    def outcome(self) -> Outcome:
        """The worst finding; an early end is an error unless a finding already failed. A plan without findings passes."""
        found = worst(finding.outcome for finding in self.findings) if self.findings else Outcome.PASS
        return worst((found, Outcome.ERROR)) if self.error else found

    @property
    def exit_code(self) -> int:
        """Of findings 1 before 5 before 3 (README, exit codes); an error of ours brings its own code."""
        if self.error is not None:
            return self.error.exit_code if isinstance(self.error, RunbookError) else _foreign(self.error)
        failed = {finding.check for finding in self.findings if finding.outcome is Outcome.FAIL}
        if any(check != "drift" and not check.startswith("ledger.") for check in failed):
            return 1
        if failed:
            return 5
        return 0 if self.outcome is Outcome.PASS else 3

    def document(self) -> dict[str, Any]:
        """The `--json` document."""
        return {
            "schema": SCHEMA,
            "action": self.action,
            "host": self.host,
            "rollout": self.rollout,
            "outcome": self.outcome.value,
            "exit_code": self.exit_code,
            "plan": self.plan.to_json() if self.plan else None,
            "release": self.release,
            "rolled_back_to": self.rolled_back_to,
            "steps": [_step(step) for step in self.steps],
            "findings": [finding.to_json() for finding in self.findings],
            "validations": [
                {**run, "over_time": self._course(f"validate {run['name']}")}
                for run in self.measured.validations
            ],
            "bench": self.measured.bench and self._bench(),
            "audit": self.audit and {"seq": self.audit["seq"], "hash": self.audit["hash"]},
            "error": str(self.error) or type(self.error).__name__ if self.error else None,
            **self.extra,
        }

    def _course(self, step: str) -> list[dict[str, Any]]:
        return self.courses[step].samples if step in self.courses else []

    def _bench(self) -> dict[str, Any]:
        measured = self.measured
        return {
            "result": measured.bench,
            "comparison": measured.comparison,
            "baseline": measured.baseline,
        }

    def record(
        self,
        *,
        started: datetime.datetime,
        ended: datetime.datetime,
        operator: Mapping[str, Any],
        **more: Any,
    ) -> dict[str, Any]:
        """The audit record (docs/architecture.md): the document, who and when, and `more`; the host adds its place."""
        document = self.document()
        del document["audit"]
        return document | {
            "id": self.rollout,
            "operator": dict(operator),
            "started": started.isoformat(timespec="milliseconds"),
            "ended": ended.isoformat(timespec="milliseconds"),
            "steps": [{**_step(step), "detail": step.detail[:_LONGEST_DETAIL]} for step in self.steps],
            **more,
        }


class Defect(Exception):
    """A defect of ours in the middle of a rollout, with its story as told so far; what went wrong is its cause."""

    def __init__(self, story: Story) -> None:
        self.story = story
        super().__init__(str(story.error))


def _step(step: StepEnded) -> dict[str, Any]:
    return {
        "name": step.name,
        "outcome": step.outcome.value,
        "at_s": round(step.at_s, 3),
        "duration_s": round(step.duration_s, 3),
    }


def _foreign(error: BaseException) -> int:
    return 130 if isinstance(error, KeyboardInterrupt) else 70
