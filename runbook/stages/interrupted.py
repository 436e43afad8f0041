"""The record of a rollout that left none: its controller, its link or its host was gone before it could write one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.audit.record import moment
from runbook.errors import LinkLostError
from runbook.story import Story

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.model import Observation
    from runbook.work import Work

# What `inflight.json` calls the step that only a rollback takes.
_WRITING_BACK = "write back"


def record(work: Work, seen: Observation) -> None:
    """Append the record that an interrupted rollout owes; nothing where none was interrupted or it wrote its own."""
    left = seen.inflight
    if left is None:
        return
    owed = _record(work, left)
    answer = work.wire.call("audit_append", state=work.host.state, record=owed, once=True)
    if not answer["known"]:
        who = f"{left.get('rollout')} by {left.get('who')}"
        work.run.note(f"rollout {who} left no record: it is recorded as interrupted (#{answer['seq']})")


def _record(work: Work, left: Mapping[str, Any]) -> dict[str, Any]:
    """Its end is not known, so it ends where it was seen last; `recorded_by` is the rollout that found it."""
    action = str(left.get("action") or ("rollback" if left.get("step") == _WRITING_BACK else "deploy"))
    error = LinkLostError(f"interrupted after step {left.get('step')}, and no record was left")
    began = moment(left.get("since")) or work.now()
    story = Story(action, work.host.name, str(left.get("rollout")), [], [], error=error)
    owed = story.record(started=began, ended=began, operator={"who": left.get("who")})
    return owed | {"recorded_by": work.rollout}
