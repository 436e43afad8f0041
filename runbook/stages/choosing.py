"""Which of a host's units the command line means, and the plan that restarts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook import planning, restarts
from runbook.errors import UsageError
from runbook.model import Restart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.model import Host, Observation, Unit
    from runbook.plan import Plan

ASKED = "asked for on the command line"


def units(host: Host, names: Sequence[str]) -> tuple[Unit, ...]:
    """The units of these roles or unit names, in start order; all of them without names. Raises UsageError."""
    found = {name: [unit.role for unit in host.units if name in _names(unit)] for name in names}
    for name, roles in found.items():
        if not roles:
            raise UsageError(
                f"{host.source}: no unit {name!r}; it has: {', '.join(unit.role for unit in host.units)}"
            )
        if len(roles) > 1:
            raise UsageError(f"{host.source}: {name!r} may be any of {', '.join(roles)}; name the whole unit")
    meant = {role for roles in found.values() for role in roles}
    return tuple(unit for unit in host.units if unit.role in meant or not names)


def _names(unit: Unit) -> tuple[str, ...]:
    return (unit.role, unit.name, unit.name.removesuffix(".service"))


def restart_plan(host: Host, seen: Observation, names: Sequence[str]) -> Plan:
    """The plan that restarts these units and changes nothing; a prefill takes decode along."""
    asked = tuple(Restart(unit.name, unit.role, ASKED) for unit in units(host, names))
    plan = planning.toward(host, seen, ())
    return plan._replace(restarts=restarts.with_pair(host, asked))
