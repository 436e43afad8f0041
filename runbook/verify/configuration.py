"""Is the host set as it should be? Files and processes against the host file, the plan, and the flag ledger."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from runbook import argumenttable, leftovers, planning, restarts, shipped
from runbook.errors import EditRefusedError
from runbook.places import names
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

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
    """What runs equals what was planned, per unit; an unknown environment is inconclusive, never a pass.

    A unit whose environment is unknown is not asked where none of its flags can be wrong.
    """
    asked = (unit for unit in host.units if wanted.get(unit.role))
    return tuple(
        _environment(host, unit, seen.units[unit.name], wanted[unit.role])
        for unit in asked
        if seen.units[unit.name].processes.kind != "unknown" or _flagged(host, unit, wanted[unit.role])
    )


def _flagged(host: Host, unit: Unit, wanted: Mapping[str, str | None]) -> bool:
    """Whether the host file has a say in the unit's flags, and one is declared or set: other variables are nobody's promise."""
    followed = names.followed(flag.name for flag in host.flags_of(unit.role))
    return unit.script is not None and any(map(followed.fullmatch, wanted))


def _environment(host: Host, unit: Unit, state: UnitState, wanted: Mapping[str, str | None]) -> Finding:
    if state.processes.kind == "unknown":
        return Finding("environment", Outcome.INCONCLUSIVE, _unknown(host, unit, state.processes.detail))
    differing = restarts.differences(wanted, state)
    if differing:
        return Finding("environment", Outcome.FAIL, f"{unit.role}: {'; '.join(differing)}")
    return Finding(
        "environment",
        Outcome.PASS,
        f"{unit.role}: {len(wanted)} variables run as planned ({state.processes.kind})",
    )


def _unknown(host: Host, unit: Unit, why: str) -> str:
    """That nobody can tell what a unit runs with, and what makes it known."""
    restart = shlex.join([shipped.command(), "restart", "--host", host.name, "--unit", unit.role])
    return (
        f"{unit.role}: running environment unknown ({why}); `{restart}` records what it starts with, `export SPT_NOENV=1` in "
        f"{unit.script} keeps it readable, and a unit that needs no flag needs no `script` in {host.source}"
    )


def left_behind(host: Host, left: Mapping[str, str]) -> tuple[Finding, ...]:
    """What --set left that no host file names, as one finding: a warning, or what the policy makes of undeclared flags."""
    if not left:
        return ()
    severity = host.policy.undeclared_flags
    said = f"{', '.join(f'{name} = {value}' for name, value in left.items())}: by --set, and {host.source} does not name "
    said += f"{'it' if len(left) == 1 else 'them'}; declare it under flags with a reason, or --unset it"
    if severity == "warn":
        return (Finding(leftovers.CHECK, Outcome.PASS, f"warning: {said}", {"severity": severity}),)
    return (Finding(leftovers.CHECK, Outcome.FAIL, said, {"severity": severity}),)


def told(drift: Sequence[Finding]) -> frozenset[str]:
    """The units that some finding of `drift` says are not as they should be."""
    return frozenset(
        str(finding.evidence.get("unit")) for finding in drift if finding.outcome is not Outcome.PASS
    )


def unapplied(seen: Observation, plan: Plan | None, told: Collection[str]) -> tuple[Finding, ...]:
    """Units that a deploy would restart although nobody has `told` what is wrong with them: they run with what no file says.

    A unit that is down is the probes' to tell, and a pair's other half is not wrong by itself.
    """
    return tuple(
        _unapplied(restart, seen.units[restart.unit])
        for restart in (plan.restarts if plan else ())
        if restart.unit not in told and restart.why != restarts.PAIR and seen.units[restart.unit].running
    )


def _unapplied(restart: Restart, state: UnitState) -> Finding:
    outcome = Outcome.INCONCLUSIVE if state.processes.kind == "unknown" else Outcome.FAIL
    said = f"{restart.role}: {restart.why}; a deploy restarts it"
    return Finding("drift", outcome, said, {"unit": restart.unit})
