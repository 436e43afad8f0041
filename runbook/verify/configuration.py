"""Is the host set as it should be? Files and processes against the host file, the plan, and the flag ledger."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from runbook import flagtable, inventory, ledger, plan
from runbook.errors import EditRefusedError
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator, Mapping

    from runbook.ledger import Setting
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
    differing = plan.differences(wanted, state)
    if differing:
        return Finding("environment", Outcome.FAIL, f"{unit.role}: {'; '.join(differing)}")
    return Finding(
        "environment",
        Outcome.PASS,
        f"{unit.role}: {len(wanted)} variables run as planned ({state.processes.kind})",
    )


def book(host: Host, seen: Observation | None, today: datetime.date) -> tuple[Finding, ...]:
    """What the flag ledger reports of a host file and, where a host was observed, of its scripts and processes."""
    settings = [] if seen is None else [setting for unit in host.units for setting in _settings(unit, seen)]
    catalogue = ledger.parse(inventory.document(ledger.SHIPPED))
    return tuple(ledger.findings(host, settings, catalogue=catalogue, today=today))


def _settings(unit: Unit, seen: Observation) -> Iterator[Setting]:
    content = seen.files[unit.script].content if unit.script else None
    if unit.script and content is not None:
        # What cannot be read is no assignment; the flag table says that it cannot be read.
        with contextlib.suppress(EditRefusedError):
            yield from ledger.of_script(unit.role, unit.script, plan.read_script(unit.script, content))
    yield from ledger.of_processes(unit.role, seen.units[unit.name].processes)
