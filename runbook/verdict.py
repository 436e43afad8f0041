"""What a verdict is made of: findings and the worst outcome among them, as the load has them."""

from __future__ import annotations

from runbook.load.outcome import WORST_FIRST, Finding, Outcome, worst

__all__ = ["WORST_FIRST", "Finding", "Outcome", "is_warning", "worst"]


def is_warning(finding: Finding) -> bool:
    """A finding that changes no outcome and still wants to be seen (the ledger's, by policy)."""
    return finding.outcome is Outcome.PASS and finding.evidence.get("severity") == "warn"
