"""What is told afterwards: the audit record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.errors import (
    RunbookError,
)

if TYPE_CHECKING:
    import datetime

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
