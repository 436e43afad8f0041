"""Restarting the plan's units in start order, each healthy before the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runbook.errors import (
    GateError,
)
from runbook.probes import unit
from runbook.verdict import Finding, Outcome
from runbook.verify import waiting

if TYPE_CHECKING:
    from runbook import plan as plans
    from runbook.model import Restart, Unit
    from runbook.plan import Plan
    from runbook.work import Work


def restart(work: Work, plan: Plan) -> None:
    """Restart the plan's units in start order, each healthy before the next; raises GateError."""
    if plan.daemon_reload:
        with work.run.step("daemon-reload"):
            work.wire.call("daemon_reload")
    for item in plan.restarts:
        _restart_one(work, item, plan.wanted.get(item.role, {}))


def _restart_one(work: Work, item: Restart, wanted: plans.Environment) -> None:
    unit = work.host.unit(item.role)
    with work.run.step(f"restart {item.role}", budget_s=work.host.wait.health.total_s) as step:
        step.progress(item.why)
        work.at(step.name)
        answer = work.wire.call("unit_restart", unit=item.unit)
        if answer.get("reset"):
            work.run.note(f"{item.unit} had failed: its failure and its start limit were reset once")
        found = waiting.wait_up(work, unit, step, replaced_pid=int(answer["before"] or 0))
        if found.outcome is Outcome.PASS:
            found = _hold(work, unit.name) or found
        step.outcome, step.detail = found.outcome, found.message
    if found.outcome is not Outcome.PASS:
        told = "; ".join((found.message, *_holders(work, unit)))
        raise GateError(f"{item.unit}: {told}", excerpt=waiting.journal(work, item.unit))
    pid = int(work.wire.call("units", units=[unit.name])[unit.name].get("MainPID") or 0)
    known = {name: value for name, value in wanted.items() if value is not None}
    work.wire.call("record_start", state=work.host.state, unit=item.unit, pid=pid, environ=known)


def _holders(work: Work, unit_: Unit) -> list[str]:
    """Who else holds the port the unit wants; an orphan of an earlier start may, long after its unit forgot it."""
    port = urlsplit(unit_.health or unit_.url or "").port
    if port is None:
        return []
    found = work.wire.call("listening", ports=[port])[str(port)]
    return [
        f"port {port} is held by pid {one['pid']} of {one['unit'] or 'no unit'}: {one['cmdline']}"
        for one in found
        if one["unit"] != unit_.name
    ]


def _hold(work: Work, name: str) -> Any:
    """A unit counts as up once its MainPID has stayed for `hold_s`; a finding when it did not."""

    before = work.wire.call("units", units=[name])[name]
    work.pause(work.host.wait.hold_s)
    crash = unit.crashed(before, work.wire.call("units", units=[name])[name])
    return (
        Finding(
            "unit", Outcome.FAIL, f"{name} came up and crashed within {work.host.wait.hold_s:g} s: {crash}"
        )
        if crash
        else None
    )
