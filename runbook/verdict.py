"""What a verdict is made of: findings and the worst outcome among them, as the load has them."""

from __future__ import annotations

from typing import Any

from runbook.errors import InterruptedByOperator
from runbook.load.outcome import WORST_FIRST, Finding, Outcome, worst

__all__ = ["WORST_FIRST", "Finding", "Outcome", "ended_as", "is_warning", "worst"]


def is_warning(finding: Finding) -> bool:
    """A finding that changes no outcome and still wants to be seen (the ledger's, by policy)."""
    return finding.outcome is Outcome.PASS and finding.evidence.get("severity") == "warn"


def ended_as(outcome: str, exit_code: Any) -> str:
    """A rollout's outcome for people: one that somebody stopped, or answered no to, is no error. What had been found by
    then stays what it was."""
    stopped = exit_code == InterruptedByOperator.exit_code and outcome == Outcome.ERROR.value
    return "stopped" if stopped else outcome
