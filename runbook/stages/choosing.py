"""Which of a host's units the command line means, and the plan that restarts them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from runbook import plan as plans
from runbook import restarts
from runbook.errors import UsageError
from runbook.model import Restart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.model import Host, Observation, Unit
    from runbook.plan import Plan

ASKED = "asked for on the command line"


def units(host: Host, names: Sequence[str]) -> tuple[Unit, ...]:
    """The units of these roles or unit names, in start order; all of them without names. Raises UsageError."""
    known = {name: unit for unit in host.units for name in _names(unit)}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            f"{host.source}: no unit {unknown[0]!r}; it has: {', '.join(unit.role for unit in host.units)}"
        )
    meant = {known[name].role for name in names}
    return tuple(unit for unit in host.units if unit.role in meant or not names)


def _names(unit: Unit) -> tuple[str, ...]:
    return (unit.role, unit.name, unit.name.removesuffix(".service"))


def restart_plan(host: Host, seen: Observation, names: Sequence[str]) -> Plan:
    """The plan that restarts these units and changes nothing; a prefill takes decode along."""
    asked = tuple(Restart(unit.name, unit.role, ASKED) for unit in units(host, names))
    plan = plans.toward(host, seen, ())
    return dataclasses.replace(plan, restarts=restarts.with_pair(host, asked))
