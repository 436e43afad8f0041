"""Before the first write: the operator's yes, the lock, an unchanged host, and nobody's hand edits lost."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from runbook import handedits, lineage, observation, releases
from runbook.errors import (
    FileChangedError,
    InterruptedByOperator,
    LinkLostError,
    PreflightError,
    ReleaseError,
    RunbookError,
)
from runbook.model import Change
from runbook.ssh.row import asked, together
from runbook.stages import inflight, interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runbook.model import Host, Observation, Release
    from runbook.plan import Plan
    from runbook.work import Work

DIFF_LINES = 60  # of hand edits in one message


def confirm(work: Work, *, back_to: Release | None = None) -> None:
    """Ask the operator, of a rollback whether to go there; no lock is held while a person thinks."""
    to = f", back to release {back_to.id}" if back_to else ""
    if not work.confirm(f"apply this plan to {work.host.name}{to}?"):
        raise InterruptedByOperator("not confirmed: nothing was changed")


def lock(work: Work, action: str) -> Observation:
    """Take the host's deploy lock, naming ourselves, and look again under it in the same round trip.

    Raises LockedError naming who holds it.
    """
    with work.run.step("lock"):
        holder, units = {**work.who(), "step": action}, [unit.name for unit in work.host.units]
        _, seen = together(
            work.wire,
            asked("lock", state=work.host.state, holder=holder, units=units, files=list(work.host.files)),
            asked("observe", **observation.question(work.host)),
        )
    return observation.parse(seen)


def unchanged(work: Work, plan: Plan, seen: Observation, make: Callable[[Host, Observation], Plan]) -> None:
    """Raise FileChangedError unless the plan would still be the same by what was seen under the lock.

    What an interrupted rollout owes the audit is recorded now that nobody else can be at work.
    """
    with work.run.step("observe again"):
        again = make(work.host, seen)
        if again.digest != plan.digest:
            raise FileChangedError(
                f"{work.host.name} changed while the plan was shown: digest was {plan.digest[:12]}, is {again.digest[:12]}; "
                "nothing was written, look at the new plan"
            )
        interrupted.record(work, seen)


def auditable(work: Work) -> None:
    """A deploy whose record cannot be kept does not begin. A rollback does: it may be what saves the night."""
    try:
        work.wire.call("audit_place", state=work.host.state)
    except LinkLostError:
        raise
    except RunbookError as error:
        raise PreflightError(
            f"{work.host.name}: its audit cannot be kept ({error}); nothing was changed"
        ) from error


def refuse_unsettled(work: Work, seen: Observation) -> None:
    """What an interrupted rollout left is settled first, by a deploy or a rollback, which know how to go back.

    To be asked where nobody else holds the lock: until then the rollout is under way.
    """
    if seen.inflight:
        raise PreflightError(f"{work.host.name}: {inflight.told(seen.inflight)}; nothing was restarted")


def rollback_target(work: Work, seen: Observation, to: str | None) -> Release:
    """Where a rollback goes (`releases.rollback_target`). Where it has nowhere to go and files were edited by hand, the error
    says how the current release is put back."""
    try:
        return releases.rollback_target(seen, to)
    except ReleaseError as error:
        here, edits = releases.current(seen), handedits.of(seen)
        if here is None or not edits:
            raise
        told = "; ".join((str(error), *(edit.told for edit in edits)))
        raise ReleaseError("\n".join((told, *handedits.ways(work.host.name, here, None)))) from error


def refuse_hand_edits(work: Work, seen: Observation, target: Release, *, force: bool) -> None:
    """A rollback over files somebody edited by hand needs --force, which saves them first; what a release keeps is not lost."""
    edits = handedits.tell(seen, work.run.note)
    here, lost = releases.current(seen), [edit for edit in edits if edit.kept_by is None]
    if here and lost and not force:
        told = "; ".join((*(edit.told for edit in lost), "nothing was changed"))
        ways = handedits.ways(work.host.name, here, target)
        diff = _by_hand(work, seen, here, [edit.path for edit in lost])
        raise ReleaseError("\n".join((told, *ways)) + diff)


def where_to(seen: Observation, target: Release, plan: Plan, *, named: bool) -> str:
    """Where a rollback goes: past what, where no release was `named`, and what is wrong with where it goes."""
    if target.id == seen.current and plan.empty:
        return f"already at release {target.id}: what is on the host is what it holds; --to names another"
    past = [] if named else releases.passed_over(seen, target)
    told = [f"past {one.id}, which {lineage.amiss(one)}" for one in past]
    if why := lineage.amiss(target):
        best = lineage.fit(seen.releases, target).id == target.id
        told.append(f"WARNING: it {why}{', and so it is with every release before it' if best else ''}")
    return "; ".join((f"back to release {target.id}, {target.verdict}", *told))


def _by_hand(work: Work, seen: Observation, here: Release, edited: Sequence[str]) -> str:
    """What somebody's hand made of a release's files, as a diff; nothing where its copies are damaged."""
    try:
        stored = work.wire.call("release_read", state=work.host.state, id=here.id)["files"]
    except RunbookError:
        return ""
    diffs = (Change(path, _bytes(stored.get(path)), seen.files[path].content).diff() for path in edited)
    lines = "".join(diffs).splitlines()
    more = [f"({len(lines) - DIFF_LINES} more lines)"] if len(lines) > DIFF_LINES else []
    return "".join(f"\n{line}" for line in (*lines[:DIFF_LINES], *more))


def _bytes(stored: Mapping[str, Any] | None) -> bytes | None:
    return None if stored is None or stored.get("b64") is None else base64.b64decode(stored["b64"])
