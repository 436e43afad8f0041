"""Is the host set as it should be? Files and processes against the host file, the plan, and the flag ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook import argumenttable, planning, restarts
from runbook.errors import EditRefusedError
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runbook.flagtable import Row
    from runbook.model import Host, Observation, Restart, Unit, UnitState
    from runbook.plan import Plan


def drift(rows: Sequence[Row]) -> tuple[Finding, ...]:
    """One finding per declared flag and unit: wanted against file against running process."""
    return tuple(row.finding("drift") for row in rows)


def argument_drift(host: Host, seen: Observation) -> tuple[Finding, ...]:
    """The same of each declared launch argument."""
    return tuple(row.finding("drift", row.outcome) for row in argumenttable.rows(host, seen))


def planned(host: Host, seen: Observation) -> tuple[Plan | None, tuple[Finding, ...]]:
    """What a deploy would do; or the finding that it would be refused, and why."""
    try:
        return planning.deploy(host, seen), ()
    except EditRefusedError as refused:
        return None, (Finding("drift", Outcome.FAIL, f"a deploy would be refused: {refused}"),)


def environment(
    host: Host, seen: Observation, wanted: Mapping[str, Mapping[str, str | None]]
) -> tuple[Finding, ...]:
    """What runs equals what was planned, per unit; an unknown environment is inconclusive, never a pass."""
    return tuple(_environment(unit, seen, wanted[unit.role]) for unit in host.units if wanted.get(unit.role))


def _environment(unit: Unit, seen: Observation, wanted: Mapping[str, str | None]) -> Finding:
    state = seen.units[unit.name]
    if state.processes.kind == "unknown":
        return Finding(
            "environment",
            Outcome.INCONCLUSIVE,
            f"{unit.role}: running environment unknown ({state.processes.detail})",
        )
    differing = restarts.differences(wanted, state)
    if differing:
        return Finding("environment", Outcome.FAIL, f"{unit.role}: {'; '.join(differing)}")
    return Finding(
        "environment",
        Outcome.PASS,
        f"{unit.role}: {len(wanted)} variables run as planned ({state.processes.kind})",
    )


def unapplied(seen: Observation, plan: Plan | None, drift: Sequence[Finding]) -> tuple[Finding, ...]:
    """Units that a deploy would restart although no finding of `drift` says why: they run with what no file says.

    A unit that is down is the probes' to tell, and a pair's other half is not wrong by itself.
    """
    told = {finding.evidence.get("unit") for finding in drift if finding.outcome is not Outcome.PASS}
    return tuple(
        _unapplied(restart, seen.units[restart.unit])
        for restart in (plan.restarts if plan else ())
        if restart.unit not in told and restart.why != restarts.PAIR and seen.units[restart.unit].running
    )


def _unapplied(restart: Restart, state: UnitState) -> Finding:
    outcome = Outcome.INCONCLUSIVE if state.processes.kind == "unknown" else Outcome.FAIL
    said = f"{restart.role}: {restart.why}; a deploy restarts it"
    return Finding("drift", outcome, said, {"unit": restart.unit})
