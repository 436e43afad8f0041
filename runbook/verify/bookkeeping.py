"""What the flag ledger reports of a host: its file, and where it was observed its scripts and processes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from runbook import inventory, ledger, plan
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator

    from runbook.ledger import Setting
    from runbook.model import Host, Observation, Unit
    from runbook.verdict import Finding


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
