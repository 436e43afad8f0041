"""How a host stands: what runs and since when, what drifts, its release, its last rollout, and flags that expire."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from runbook import comparison, handedits, leftovers, observation, releases, remembered
from runbook.errors import EditRefusedError, LinkLostError, MissingOnHostError, PreflightError, RunbookError
from runbook.onhost.environ import UNREADABLE
from runbook.probes import unit as unit_probe
from runbook.stages import records
from runbook.verdict import Outcome, came_to_nothing, ended_as
from runbook.verify import configuration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runbook.handedits import HandEdit
    from runbook.model import Argument, Flag, Host, Observation, Release, UnitState
    from runbook.plan import Plan
    from runbook.work import Work

# A flag that expires within so many days is told of: time to ask its owner before a verify fails for it.
EXPIRING_DAYS = 14


def status(work: Work, seen: Observation) -> dict[str, Any]:
    """One host on one screen, JSON values only. `now` is the host's clock in epoch seconds, `since` too."""
    here = releases.current(seen)
    today = datetime.datetime.fromtimestamp(seen.now, datetime.UTC).date()
    edits, flags = handedits.of(seen), comparison.rows(work.host, seen)
    plan = _plan(work.host, seen)
    return {
        "now": seen.now,
        "units": [_unit(unit.role, seen.units[unit.name]) for unit in work.host.units],
        "flags": flags,
        "unapplied": _unapplied(work.host, seen, plan, flags),
        "left_behind": leftovers.standing(
            work.host, leftovers.names(seen), leftovers.files_of(seen, plan), work.undeclared
        ),
        "edited": [edit.path for edit in edits if not edit.gone],
        "kept_by": {edit.path: edit.kept_by for edit in edits if edit.kept_by},
        "gone": _gone(work.host, seen, edits),
        "missing": [
            f"{path} is not there{observation.meant(seen, path)}" for path in _never(work.host, seen)
        ],
        "unreadable": _unreadable(work.host, seen),
        "current": here and _release(here, seen),
        "last": last_rollout(work),
        "expiring": expiring(work.host, today),
        "inflight": seen.inflight,
        "lock": seen.lock_holder,
    }


def _gone(host: Host, seen: Observation, edits: Sequence[HandEdit]) -> list[str]:
    """Scripts that a release has, and files of the current one, that are not there any more."""
    never = _never(host, seen)
    scripts = [path for path in host.scripts if seen.files[path].absent and path not in never]
    return list(dict.fromkeys((*scripts, *(edit.path for edit in edits if edit.gone))))


def _never(host: Host, seen: Observation) -> list[str]:
    """Scripts that are not there and in no release: nobody ever saw them."""
    known = {record.path for one in seen.releases for record in one.files if record.sha256}
    return [path for path in host.scripts if seen.files[path].absent and path not in known]


def _unreadable(host: Host, seen: Observation) -> str | None:
    """The host's files, and environments of its processes, that the login may not read, and what helps; None where it may."""
    flagged = {role for flag in host.flags for role in flag.units}
    closed = [
        f"what {unit.role} runs with"
        for unit in host.units
        if unit.role in flagged and seen.units[unit.name].processes.detail == UNREADABLE
    ]
    what = [*observation.denied(seen, host.files), *closed]
    return observation.not_readable(host, seen, what) if what else None


def _plan(host: Host, seen: Observation) -> Plan | None:
    """What a deploy would do; None where none could be planned."""
    try:
        return remembered.deploy(host, seen)
    except (EditRefusedError, MissingOnHostError, PreflightError):
        return None


def _unapplied(
    host: Host, seen: Observation, plan: Plan | None, flags: Sequence[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """Units that run with what no file says, where none of `flags` tells so; none where no deploy could be planned."""
    told = {host.unit(row["unit"]).name for row in flags if row["outcome"] != Outcome.PASS.value}
    return [
        {"unit": found.evidence["unit"], "outcome": found.outcome.value, "says": found.message}
        for found in configuration.unapplied(seen, plan, told)
    ]


def _unit(role: str, state: UnitState) -> dict[str, Any]:
    """`up`: it runs. `down`: nothing but a person or a deploy brings it back; `says` is why, or that it is on its way."""
    properties = state.properties
    sample = unit_probe.judge(properties)
    return {
        "role": role,
        "unit": state.name,
        "state": f"{properties.get('ActiveState')}/{properties.get('SubState')}",
        "up": sample.holds,
        "down": sample.final,
        "says": sample.text,
        "pid": state.main_pid,
        "since": state.processes.started_at or None,
        "restarts": int(properties.get("NRestarts") or 0),
        "evidence": state.processes.kind,
        "evidence_says": state.processes.detail,
    }


def _release(here: Release, seen: Observation) -> dict[str, Any]:
    return {
        "id": here.id,
        "verdict": here.verdict,
        "created": here.created,
        "age": releases.age(here, seen.now),
        "rollout": here.rollout or None,
    }


def last_rollout(work: Work) -> dict[str, Any] | None:
    """The youngest record of the host's audit that changed or measured something; None where none can be read."""
    try:
        record = next((one for one in records.youngest_first(work) if not came_to_nothing(one)), None)
    except LinkLostError:
        raise
    except RunbookError as error:
        work.run.note(f"the last rollout is not known: {error}")
        return None
    return record and _told(record)


def _told(record: Mapping[str, Any]) -> dict[str, Any]:
    operator = record.get("operator")
    who = operator if isinstance(operator, dict) else {}
    texts = {key: str(record.get(key) or "") for key in ("id", "action", "outcome", "ended")}
    return {
        **texts,
        "ended_as": ended_as(record),
        "exit_code": record.get("exit_code"),
        **{key: record.get(key) and str(record[key]) for key in ("rolled_back_to", "going_back_to")},
        "seq": record.get("seq"),
        "who": str(who.get("who") or (f"{who['user']}@{who.get('host')}" if who.get("user") else "")),
        "reason": str(record.get("reason") or who.get("reason") or ""),
    }


def expiring(host: Host, today: datetime.date) -> list[dict[str, Any]]:
    """Flags that have expired or will within EXPIRING_DAYS; `days` are those left, below zero when it is past."""
    declared: tuple[Flag | Argument, ...] = (*host.flags, *(one for unit in host.units for one in unit.args))
    return [
        _expiring(flag, flag.expires, today)
        for flag in declared
        if flag.expires and _soon(flag.expires, today)
    ]


def _soon(expires: datetime.date, today: datetime.date) -> bool:
    return (expires - today).days <= EXPIRING_DAYS


def _expiring(flag: Flag | Argument, expires: datetime.date, today: datetime.date) -> dict[str, Any]:
    return {
        "flag": flag.name,
        "since": flag.since and flag.since.isoformat(),
        "expires": expires.isoformat(),
        "days": (expires - today).days,
        "owner": flag.owner,
    }
