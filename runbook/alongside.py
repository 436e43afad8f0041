"""Who else is at work on a host: who holds its lock now, and what they did since it was looked at."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from runbook.errors import LockedError
from runbook.observation import observe
from runbook.onhost import lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.audit.record import Record
    from runbook.model import Host, Observation
    from runbook.ssh import Wire

_CHANGING = ("deploy", "rollback", "restart")


def at_work(seen: Observation) -> str:
    """Who held the lock when the host was looked at, or that of a service directory with the same units; empty: nobody."""
    own = [] if seen.lock_holder is None else [f"locked by {lock.words(seen.lock_holder)}"]
    return next(iter((*own, *at_work_beside(seen))), "")


def at_work_beside(seen: Observation) -> list[str]:
    """Who holds the locks of service directories with the same units."""
    return [f"locked by {lock.beside_words(one)}" for one in seen.beside if one["lock"] is not None]


def refuse(seen: Observation) -> None:
    """Raise LockedError where somebody is at work: what is measured or planned in the middle of a rollout means nothing."""
    if said := at_work(seen):
        error = LockedError(said)
        error.data = next(_holders(seen), {})
        raise error


def _holders(seen: Observation) -> Iterator[Mapping[str, Any]]:
    """The lock's holders of the host, that of its own lock first."""
    held = (seen.lock_holder, *(one["lock"] for one in seen.beside))
    return (one for one in held if one is not None)


def kept_beside(seen: Observation) -> list[str]:
    """A warning for each service directory of the host that keeps releases of the same units and is not this one."""
    return [_told(one) for one in seen.beside if one["current"]]


def _told(one: Mapping[str, Any]) -> str:
    """One host's state is kept once, or its locks keep nobody apart."""
    left = ", and a rollout that was interrupted" if one["interrupted"] else ""
    return (
        f"warning: {one['state']} on this host also keeps releases of {', '.join(one['units'])}{left}: "
        "host files of one service must share service: and state_dir"
    )


def meanwhile(wire: Wire, host: Host, before: Observation) -> str:
    """Whose rollout began on the host after `before` was seen, as `ann's deploy`; empty where none did.

    Asked of a wire that holds no lock itself: who does is at work, and who was has left a record, or another release.
    """
    now = observe(wire, host)
    if (holder := next(_holders(now), None)) is not None:
        action = (now.inflight or {}).get("action") or "rollout"
        return f"{holder.get('who') or 'somebody'}'s {action}"
    if changing := _recorded(wire, host, before):
        return f"{_who(changing[-1])}'s {changing[-1].action}"
    return "somebody's rollout" if _standing(now) != _standing(before) else ""


def _standing(seen: Observation) -> list[str | None]:
    """Releases that are current, and the rollout that nobody ended."""
    return [
        seen.current,
        (seen.inflight or {}).get("rollout"),
        *sorted(str(one["current"]) for one in seen.beside),
    ]


def _recorded(wire: Wire, host: Host, before: Observation) -> list[Record]:
    """Rollouts that put their record behind the audit as it was; the youngest is the last. What was interrupted before is
    recorded late, by whoever finds it."""
    from runbook.audit.record import records_of  # only who found something restarted reads records

    answer = wire.call("audit_read", state=host.state, offset=before.audit_bytes)
    late = (before.inflight or {}).get("rollout")
    found = (one for one in records_of(base64.b64decode(answer["b64"])) if one.id != late)
    return [one for one in found if one.action in _CHANGING and one.document.get("restarts")]


def _who(record: Record) -> str:
    operator = record.table("operator")
    named = f"{operator['user']}@{operator.get('host')}" if operator.get("user") else "somebody"
    return str(operator.get("who") or named)
