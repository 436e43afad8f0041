"""The record of a rollout that left none: its controller, its link or its host was gone before it could write one."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any

from runbook.errors import LinkLostError
from runbook.story import Story

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.model import Observation
    from runbook.work import Work

# What `inflight.json` calls the step that only a rollback takes.
_WRITING_BACK = "write back"


def record(work: Work, seen: Observation) -> None:
    """Append the record that an interrupted rollout owes; nothing where none was interrupted or it wrote its own."""
    left = seen.inflight
    if left is None or left.get("rollout") in set(_recorded(work)):
        return
    work.run.note(
        f"rollout {left.get('rollout')} by {left.get('who')} left no record: it is recorded as interrupted"
    )
    work.wire.call("audit_append", state=work.host.state, record=_record(work, left))


def _record(work: Work, left: Mapping[str, Any]) -> dict[str, Any]:
    """Its end is not known, so it ends where it was seen last; `recorded_by` is the rollout that found it."""
    action = "rollback" if left.get("step") == _WRITING_BACK else "deploy"
    error = LinkLostError(f"interrupted after step {left.get('step')}, and no record was left")
    began = _moment(left.get("since")) or work.now()
    story = Story(action, work.host.name, str(left.get("rollout")), [], [], error=error)
    owed = story.record(started=began, ended=began, operator={"who": left.get("who")})
    return owed | {"recorded_by": work.rollout}


def _recorded(work: Work) -> Iterator[str]:
    """The rollouts the host's audit knows; asked for in as many answers as it takes."""
    after, page = 0, _page(work, 0)
    while page:
        yield from (str(one.get("id")) for one in page)
        reached = max(int(one.get("seq") or 0) for one in page)
        if reached <= after:
            return  # damaged lines come again with every answer
        after, page = reached, _page(work, reached)


def _page(work: Work, after: int) -> list[dict[str, Any]]:
    lines = work.wire.call("audit_read", state=work.host.state, after=after)["records"]
    return [found for line in lines if isinstance(found := _parsed(line), dict)]


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _moment(text: Any) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(str(text))
    except ValueError:
        return None
