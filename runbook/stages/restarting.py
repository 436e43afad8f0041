"""Restarting the plan's units in start order, each healthy before the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.errors import GateError
from runbook.probes import unit
from runbook.stages import holders, inflight
from runbook.verdict import Finding, Outcome
from runbook.verify import lastwords, waiting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.model import Restart, Unit
    from runbook.plan import Environment, Plan
    from runbook.work import Work


def restart(work: Work, plan: Plan) -> None:
    """Restart the plan's units in start order, each healthy before the next; raises GateError."""
    if plan.daemon_reload:
        with work.run.step("daemon-reload"), inflight.marked(work, "daemon-reload"):
            work.wire.call("daemon_reload")
    for item in plan.restarts:
        with inflight.marked(work, f"restart {item.role}"):
            _restart_one(work, item, plan.wanted.get(item.role, {}))


def _restart_one(work: Work, item: Restart, wanted: Environment) -> None:
    unit_ = work.host.unit(item.role)
    with work.run.step(f"restart {item.role}", budget_s=work.host.wait.health.total_s) as step:
        step.progress(item.why)
        work.at(step.name)
        answer = work.wire.call("unit_restart", unit=item.unit)
        if answer.get("reset"):
            work.run.note(f"{item.unit} had failed, or did again and again: its start limit was reset once")
        found = waiting.wait_up(work, unit_, step, replaced_pid=int(answer["before"] or 0))
        if found.outcome is Outcome.PASS:
            fell, now = _held(work, holders.Start(unit_, answer.get("after_boot_s") or 0.0))
            found = fell or found
        step.outcome, step.detail = found.outcome, found.message
    if found.outcome is not Outcome.PASS:
        raise _failed(work, unit_, found, answer)
    known = {name: value for name, value in wanted.items() if value is not None}
    pid = int(now.get("MainPID") or 0)
    work.wire.call("record_start", state=work.host.state, unit=item.unit, pid=pid, environ=known)


def _failed(work: Work, unit_: Unit, found: Finding, asked: Mapping[str, Any]) -> GateError:
    """Why a unit did not come up: its state, its last words, who is in its way, and what it logged since it was told to start."""
    excerpt = waiting.journal(work, unit_.name, since=asked.get("at"))
    told = (
        found.message,
        *lastwords.sentence(excerpt),
        *holders.of_failed(work, holders.Start(unit_, asked.get("after_boot_s") or 0.0, excerpt)),
    )
    return GateError(f"{unit_.name}: {'; '.join(told)}", excerpt=excerpt)


def _held(work: Work, start: holders.Start) -> tuple[Finding | None, Mapping[str, str]]:
    """A unit counts as up once its MainPID has stayed for `hold_s` and its port is its own: a finding where that is not so,
    and the unit after it."""
    name = start.unit.name
    before = now = waiting.shown(work, name)
    if work.host.wait.hold_s:
        work.pause(work.host.wait.hold_s)
        now = waiting.shown(work, name)
    if crash := unit.crashed(before, now):
        told = f"{name} came up and crashed within {work.host.wait.hold_s:g} s: {crash}"
    elif holders.is_taken_for(work, start):
        told = f"{name} runs, but what answers in its place is left from an earlier start"
    else:
        return None, now
    return Finding("unit", Outcome.FAIL, told), now
