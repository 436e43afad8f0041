"""Before the first write: the operator's yes, the lock, an unchanged host, room, and whether it serves now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook import releases
from runbook.errors import (
    FileChangedError,
    InterruptedByOperator,
    PreflightError,
    ReleaseError,
)
from runbook.probes import health, ready
from runbook.stages import interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.model import Host, Observation
    from runbook.plan import Plan
    from runbook.work import Work

# Room that must be free before the first byte is written: files, their copies in a release, the audit.
FREE_BYTES = 16 * 1024 * 1024
FREE_INODES = 200


def confirm(work: Work) -> None:
    """Ask the operator; no lock is held while a person thinks."""
    if not work.confirm(f"apply this plan to {work.host.name}?"):
        raise InterruptedByOperator("not confirmed: nothing was changed")


def lock(work: Work, action: str) -> None:
    """Take the host's deploy lock, naming ourselves; raises LockedError naming who holds it."""
    with work.run.step("lock"):
        holder = {**work.who(), "step": action}
        work.wire.call("lock", state=work.host.state, holder=holder)


def unchanged(work: Work, plan: Plan, make: Callable[[Host, Observation], Plan]) -> Observation:
    """Look again under the lock; raises FileChangedError unless the plan would still be the same.

    What an interrupted rollout owes the audit is recorded now that nobody else can be at work.
    """
    with work.run.step("observe again"):
        seen = work.observe()
        again = make(work.host, seen)
        if again.digest != plan.digest:
            raise FileChangedError(
                f"{work.host.name} changed while the plan was shown: digest was {plan.digest[:12]}, is {again.digest[:12]}; "
                "nothing was written, look at the new plan"
            )
        interrupted.record(work, seen)
    return seen


def preflight(work: Work, seen: Observation) -> bool:
    """Room, writable files, and whether the service serves now. Raises PreflightError before anything is touched."""
    with work.run.step("preflight") as step:
        problems = room(seen)
        if problems:
            raise PreflightError(f"{work.host.name}: {'; '.join(problems)}; nothing was changed")
        serving, step.detail = _serving(work)
    return serving


def room(seen: Observation) -> list[str]:
    """What keeps us from writing, before the first byte."""
    problems = [f"{path} is on a read-only file system" for path in seen.read_only]
    if seen.free_bytes < FREE_BYTES:
        problems.append(f"only {seen.free_bytes // 1024} KiB free, wanted {FREE_BYTES // 1024}")
    if seen.free_inodes < FREE_INODES:
        problems.append(f"only {seen.free_inodes} inodes free, wanted {FREE_INODES}")
    return problems


def _serving(work: Work) -> tuple[bool, str]:
    """Does it serve right now? A chat is only sent while every worker is healthy: else the router's breaker opens."""
    timeout_s = work.host.wait.health.timeout_s
    for unit in work.host.units:
        if unit.health and not (answer := health.ask(work.tunnel, unit.health, timeout_s)).holds:
            return False, f"not serving now: {unit.role}: {answer.text}"
    endpoint = work.host.endpoint
    if endpoint is None or endpoint.url is None:
        return False, "no unit has a url"
    wait = work.host.wait
    answer = ready.ask(
        work.tunnel, endpoint.url, work.host.model,
        max_tokens=wait.ready_max_tokens, timeout_s=wait.ready.timeout_s, api_key=work.api_key,
    )  # fmt: skip
    if answer.final:
        raise PreflightError(
            f"{work.host.name}: {endpoint.url} answers {answer.text}; mend the host file first, nothing was changed"
        )
    return answer.holds, f"serving now: {answer.text}" if answer.holds else f"not serving now: {answer.text}"


def refuse_hand_edits(work: Work, seen: Observation, *, force: bool) -> None:
    """A rollback over files somebody edited by hand needs --force, which saves them first."""
    here = releases.current(seen)
    # What an interrupted rollout wrote is nobody's hand.
    written = bool((seen.inflight or {}).get("parent"))
    edited = releases.edited_since(seen, here) if here and not written else ()
    if edited and not force:
        raise ReleaseError(
            f"{', '.join(edited)} changed since release {here.id if here else ''} by another hand; "
            "--force saves what is there as a release and goes back all the same"
        )
