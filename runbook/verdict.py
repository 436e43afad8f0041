"""A Verdict: findings and the worst outcome among them."""

from __future__ import annotations

from dataclasses import dataclass

from runbook.load.outcome import Finding, Outcome, worst

__all__ = ["Finding", "Outcome", "Verdict", "is_warning", "worst"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rollout's checks concluded together. Without findings it is inconclusive, never a pass."""

    findings: tuple[Finding, ...] = ()

    @property
    def outcome(self) -> Outcome:
        return worst(finding.outcome for finding in self.findings)

    def __add__(self, other: Verdict) -> Verdict:
        return Verdict(self.findings + other.findings)

    def of(self, check: str) -> tuple[Finding, ...]:
        """The findings of one check."""
        return tuple(finding for finding in self.findings if finding.check == check)


def is_warning(finding: Finding) -> bool:
    """A finding that changes no outcome and still wants to be seen (the ledger's, by policy)."""
    return finding.outcome is Outcome.PASS and finding.evidence.get("severity") == "warn"
