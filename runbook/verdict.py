"""What a verdict is made of: findings and the worst outcome among them, as the load has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.errors import InterruptedByOperator, LockedError, UsageError
from runbook.load.outcome import WORST_FIRST, Finding, Outcome, worst

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["WORST_FIRST", "Finding", "Outcome", "came_to_nothing", "ended_as", "is_warning", "words", "worst"]

_STOPPED = InterruptedByOperator.exit_code
_REFUSED = (UsageError.exit_code, LockedError.exit_code)
_ASKED = ("deploy", "rollback", "restart")  # actions that ask before they take the lock
_DEEDS = ("write", "restart ", "validate ", "bench")  # how steps are called that change or measure


def is_warning(finding: Finding) -> bool:
    """A finding that changes no outcome and still wants to be seen (the ledger's, by policy)."""
    return finding.outcome is Outcome.PASS and finding.evidence.get("severity") == "warn"


def words() -> tuple[str, ...]:
    """All that `ended_as` may say."""
    return (*Outcome, "declined", "refused", "stopped")


def ended_as(told: Mapping[str, Any]) -> str:
    """The outcome of a document or a record for people. What had been found by its end stays what it was; an end without
    a finding is `declined`, `refused` or `stopped` where that is all there is to it, and else an error."""
    outcome, exit_code = str(told.get("outcome") or ""), told.get("exit_code")
    if outcome != Outcome.ERROR.value:
        return outcome
    if came_to_nothing(told):
        return _before_it_began(told, exit_code)
    return "stopped" if exit_code == _STOPPED else outcome


def came_to_nothing(told: Mapping[str, Any]) -> bool:
    """Whether a rollout was refused, or ended by its operator, before it changed or measured anything."""
    given_up = told.get("outcome") == Outcome.ERROR.value and told.get("exit_code") in (_STOPPED, *_REFUSED)
    return given_up and not (any(told.get(key) for key in ("files", "restarts")) or any(_deeds(told)))


def _before_it_began(told: Mapping[str, Any], exit_code: Any) -> str:
    if exit_code in _REFUSED:
        return "refused"
    asking = told.get("action") in _ASKED and "lock" not in _steps(told)
    return "declined" if asking else "stopped"


def _deeds(told: Mapping[str, Any]) -> Iterator[str]:
    """Steps that were under way at the end, or done; those that a refusal ended did nothing."""
    for name, outcome in _steps(told).items():
        if name.startswith(_DEEDS) and (outcome != Outcome.ERROR.value or told.get("exit_code") == _STOPPED):
            yield name


def _steps(told: Mapping[str, Any]) -> dict[str, str]:
    """Outcomes by the steps' names. A record is what some program wrote: what is no step of ours is none."""
    rows = told.get("steps")
    steps = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return {str(row.get("name")): str(row.get("outcome")) for row in steps}
