"""What is told afterwards: the audit record, and one screen of status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook import flagtable, releases
from runbook.errors import (
    RunbookError,
)

if TYPE_CHECKING:
    import datetime

    from runbook.model import Host, Observation, UnitState
    from runbook.story import Story
    from runbook.work import Work

# An operator who pressed Ctrl-C twice waits at most this long for the record.
AUDIT_DEADLINE_S = 10.0


def append_record(work: Work, story: Story, started: datetime.datetime) -> None:
    """Append the audit record on the host; a host that cannot take it is said, and the story's error stays first."""
    record = story.record(started=started, ended=work.now(), operator=work.operator)
    try:
        story.audit = work.wire.call(
            "audit_append", state=work.host.state, record=record, deadline_s=AUDIT_DEADLINE_S
        )
        work.run.show("audit", {**record, **story.audit})
    except RunbookError as error:
        work.run.show("audit", {**record, "seq": None, "hash": None})
        work.run.note(f"the audit record could not be appended on the host: {error}")
        story.error = story.error or error


def status(host: Host, seen: Observation) -> dict[str, Any]:
    """One host on one screen: units, flags with file and running value, release, what is under way. JSON values only."""
    here = releases.current(seen)
    return {
        "units": [_unit_status(unit.role, seen.units[unit.name]) for unit in host.units],
        "flags": [
            {"flag": row.flag.name, "unit": row.unit.role, "wanted": row.flag.value, "file": row.in_file, "running": row.running,
             "evidence": row.running_kind, "outcome": row.outcome.value}
            for row in flagtable.rows(host, seen)
        ],
        "current": here and {"id": here.id, "verdict": here.verdict, "age": releases.age(here, seen.now)},
        "inflight": seen.inflight,
        "lock": seen.lock_holder,
    }  # fmt: skip


def _unit_status(role: str, state: UnitState) -> dict[str, Any]:
    properties = state.properties
    return {
        "role": role,
        "unit": state.name,
        "state": f"{properties.get('ActiveState')}/{properties.get('SubState')}",
        "pid": state.main_pid,
        "since": state.processes.started_at or None,
        "restarts": int(properties.get("NRestarts") or 0),
        "evidence": state.processes.kind,
    }
