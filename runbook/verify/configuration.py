"""Is the host set as it should be? Files and processes against the host file, the plan, and the flag ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook import flagtable, restarts
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.model import Host, Observation, Unit


def drift(host: Host, seen: Observation) -> tuple[Finding, ...]:
    """One finding per declared flag and unit: wanted against file against running process."""
    return tuple(row.finding("drift") for row in flagtable.rows(host, seen))


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
