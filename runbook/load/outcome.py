"""Outcome and Finding: what a check concluded, and what it saw.

Both live in `load` because the load generator judges on the GPU host, where nothing else of runbook is.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Outcome(str, enum.Enum):
    """The four answers a check can give. No data is never a pass: it is `inconclusive`."""

    FAIL = "fail"
    ERROR = "error"
    INCONCLUSIVE = "inconclusive"
    PASS = "pass"

    def __str__(self) -> str:
        return self.value


WORST_FIRST = (Outcome.FAIL, Outcome.ERROR, Outcome.INCONCLUSIVE, Outcome.PASS)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Combine outcomes: fail > error > inconclusive > pass; of nothing, inconclusive."""
    seen = set(outcomes)
    return next((outcome for outcome in WORST_FIRST if outcome in seen), Outcome.INCONCLUSIVE)


@dataclass(frozen=True)
class Finding:
    """One conclusion: which check, how it ended, a message that carries both numbers, and the evidence.

    `evidence` holds JSON values only, so that a finding crosses the wire and enters the audit as it is.
    """

    check: str
    outcome: Outcome
    message: str
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "outcome": self.outcome.value,
            "message": self.message,
            "evidence": dict(self.evidence),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Finding:
        return cls(
            check=str(document["check"]),
            outcome=Outcome(document["outcome"]),
            message=str(document["message"]),
            evidence=dict(document.get("evidence", {})),
        )
