"""The record of a rollout that left none: its controller, its link or its host was gone before it could write one."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from runbook.audit.record import moment
from runbook.errors import LinkLostError
from runbook.events import StepEnded
from runbook.onhost.inflight import steps_of
from runbook.stages import recording
from runbook.story import Story
from runbook.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.model import Observation
    from runbook.work import Work


def record(work: Work, seen: Observation) -> None:
    """Append the record that an interrupted rollout owes; nothing where none was interrupted or it wrote its own."""
    left = seen.inflight
    if left is None:
        return
    answer = recording.append(work, _kept_here(work, left) or _record(work, left), once=True)
    if not answer["known"]:
        who = f"{left.get('rollout')} by {left.get('who')}"
        work.run.note(f"rollout {who} left no record: it is recorded as interrupted (#{answer['seq']})")


def record_if_left(work: Work, seen: Observation) -> None:
    """`record` for a run that holds no lock: what somebody is still at work on they record themselves."""
    if seen.lock_holder is None:
        record(work, seen)


def _kept_here(work: Work, left: Mapping[str, Any]) -> dict[str, Any] | None:
    """What its own controller knew of it and could not append, where that was here: more than its book says."""
    found = work.owed.of(str(left.get("rollout"))) if work.owed else None
    whole = {key: value for key, value in (found or {}).items() if key not in ("seq", "prev", "hash")}
    return {**whole, "recorded_by": work.rollout} if whole else None


def _record(work: Work, left: Mapping[str, Any]) -> dict[str, Any]:
    """Its end is not known, so it ends where it was seen last; `recorded_by` is the rollout that found it."""
    error = LinkLostError(f"interrupted after step {left.get('step')}, and no record was left")
    began = moment(left.get("since")) or work.now()
    steps = [_step(step, began) for step in steps_of(left)]
    ended = max((step.at_s + step.duration_s for step in steps), default=0.0)
    action = str(left.get("action") or "deploy")
    story = Story(action, work.host.name, str(left.get("rollout")), steps, [], error=error)
    owed = story.record(
        started=began,
        ended=began + datetime.timedelta(seconds=ended),
        operator=left.get("operator") or {"who": left.get("who")},
        reason=str(left.get("reason") or ""),
        tool=left.get("tool") or {},
        recorded_by=work.rollout,
    )
    return recording.without_secrets(work, owed)


def _step(step: Mapping[str, Any], began: datetime.datetime) -> StepEnded:
    """A step as its book has it, by the host's clock; one without an end is where it stopped."""
    at, end = moment(step.get("began")) or began, moment(step.get("ended"))
    lasted = max((end - at).total_seconds(), 0.0) if end else 0.0
    outcome, detail = (Outcome.PASS, "") if end else (Outcome.ERROR, "it is not known to have ended")
    return StepEnded(str(step.get("name")), outcome, lasted, detail, max((at - began).total_seconds(), 0.0))
