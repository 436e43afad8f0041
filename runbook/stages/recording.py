"""The audit record of a rollout: its document, and what the near end, the wire and the host know besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.audit.appending import append as append_signed
from runbook.audit.masked import masked
from runbook.audit.signing import SigningError
from runbook.errors import InterruptedByOperator, LinkLostError, RunbookError
from runbook.stages import servers

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping

    from runbook.story import Story
    from runbook.work import Work

# An operator who pressed Ctrl-C twice waits at most this long for the record.
DEADLINE_S = 10.0


def machine(work: Work) -> dict[str, Any]:
    """What the host says of itself; that it cannot is no reason to leave it as it is. Raises LinkLostError."""
    try:
        found: dict[str, Any] = work.wire.call("machine", checkout=work.host.checkout)
    except LinkLostError:
        raise
    except RunbookError as error:
        return {"error": str(error)}
    return found


def record(work: Work, story: Story, started: datetime.datetime) -> dict[str, Any]:
    """The record as it is to be hashed: complete, JSON values only, without secrets."""
    deeds = work.run.deeds
    whole = story.record(
        started=started,
        ended=work.now(),
        operator=work.operator,
        reason=work.reason,
        tool=work.tool,
        facts={**story.facts, "servers": servers.ask(work) if _may_ask(story.error) else {}},
        files=deeds.files,
        restarts=deeds.restarts,
        probes=[probe.to_json() for probe in work.run.probes],
        calls=deeds.calls,
        calls_left_out=deeds.left_out,
        programs=deeds.programs.rows,
        programs_left_out=deeds.programs.left_out,
        verdict=deeds.verdict,
    )
    return without_secrets(work, whole)


def without_secrets(work: Work, record: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = masked(dict(record), [work.api_key] if work.api_key else [])
    return found


def _may_ask(error: BaseException | None) -> bool:
    """Not over a link that is gone, nor while a person waits to leave."""
    return not isinstance(error, LinkLostError | InterruptedByOperator | KeyboardInterrupt)


def append(work: Work, record: Mapping[str, Any], *, once: bool = False) -> dict[str, Any]:
    """Append a record to the host's chain, signed where there is a key; one that will not sign is told of."""
    wire, state = work.wire, work.host.state
    try:
        answer = append_signed(wire, state, record, work.sign, deadline_s=DEADLINE_S, once=once)
    except SigningError as error:
        work.run.note(f"{error}; the record is appended unsigned")
        answer = append_signed(wire, state, record, None, deadline_s=DEADLINE_S, once=once)
    if answer.get("journal"):
        work.run.note(f"the audit's head is not in the host's journal: {answer['journal']}")
    return answer
