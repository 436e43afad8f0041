"""The stages a rollout is made of: each does one thing on the host and tells it as one step."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

from runbook import flagtable, releases
from runbook import plan as plans
from runbook.errors import (
    FileChangedError,
    GateError,
    InterruptedByOperator,
    MeasureError,
    PreflightError,
    ReleaseError,
    RunbookError,
)
from runbook.observation import release as parse_release
from runbook.probes import health, ready
from runbook.validations import Jobs, bench
from runbook.verdict import Outcome, worst
from runbook.verify import waiting

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Mapping

    from runbook.model import Change, Host, Observation, Release, Restart, UnitState
    from runbook.plan import Plan
    from runbook.story import Story
    from runbook.work import Work

# Room that must be free before the first byte is written: files, their copies in a release, the audit.
FREE_BYTES = 16 * 1024 * 1024
FREE_INODES = 200
# An operator who pressed Ctrl-C twice waits at most this long for the record.
AUDIT_DEADLINE_S = 10.0


def confirm(work: Work) -> None:
    """Ask the operator; no lock is held while a person thinks."""
    if not work.confirm(f"apply this plan to {work.host.name}?"):
        raise InterruptedByOperator("not confirmed: nothing was changed")


def lock(work: Work, action: str) -> None:
    """Take the host's deploy lock, naming ourselves; raises LockedError naming who holds it."""
    with work.run.step("lock"):
        holder = {**_who(work), "step": action}
        work.wire.call("lock", state=work.host.state, holder=holder)


def unchanged(work: Work, plan: Plan, make: Callable[[Host, Observation], Plan]) -> Observation:
    """Look again under the lock; raises FileChangedError unless the plan would still be the same."""
    with work.run.step("observe again"):
        seen = work.observe()
        again = make(work.host, seen)
        if again.digest != plan.digest:
            raise FileChangedError(
                f"{work.host.name} changed while the plan was shown: digest was {plan.digest[:12]}, is {again.digest[:12]}; "
                "nothing was written, look at the new plan"
            )
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


def secure(work: Work, seen: Observation) -> Release:
    """The release to come back to: current, or what is on disk saved as `adopted` when no release holds it."""
    here = releases.current(seen)
    if here is not None and not releases.edited_since(seen, here):
        return here
    with work.run.step("save what is there") as step:
        release = _save(
            work,
            "adopted",
            parent=here.id if here else None,
            files=releases.records(seen.files),
            flags=_flags(work.host, seen),
        )
        work.wire.call("set_current", state=work.host.state, id=release.id)
        step.detail = f"release {release.id} (adopted)"
    return release


def _flags(host: Host, seen: Observation) -> dict[str, plans.Environment]:
    return dict(plans.toward(host, seen, ()).wanted)


def baseline(work: Work, seen: Observation, parent: Release, *, serving: bool) -> Mapping[str, Any] | None:
    """The bench of the state before the change: the parent's, else measured now and kept with the parent."""
    spec = work.host.bench
    if spec is None or parent.bench is not None or not serving:
        return parent.bench
    with work.run.step("bench before", budget_s=spec.budget_s) as step:
        jobs = Jobs(work.wire, work.host, work.checkpoint, work.api_key)
        try:
            result = bench.measure(jobs, spec, lambda text, fields: step.progress(text, **fields))
        except MeasureError as error:
            # A fix must not wait for a number; the bench after it will be inconclusive and say why.
            step.outcome, step.detail = Outcome.ERROR, str(error)
            return None
        work.wire.call("release_update", state=work.host.state, id=parent.id, fields={"bench": result})
    return result


def write(work: Work, plan: Plan, seen: Observation, parent: Release) -> str:
    """Write the plan's files and save them as a release; without changes the parent stays current."""
    if not plan.changes:
        return parent.id
    with work.run.step("write") as step:
        inflight(work, "write", back_to=parent.id)
        _write_files(work, plan.changes)
        files = releases.records(seen.files, plan.changes)
        release = _save(work, "unproven", parent=parent.id, files=files, flags=plan.wanted)
        work.wire.call("set_current", state=work.host.state, id=release.id)
        step.detail = f"{len(plan.changes)} files, release {release.id}"
    return release.id


def write_back(work: Work, plan: Plan, target: Release) -> None:
    """Put a release's bytes back and make it current."""
    with work.run.step("write back") as step:
        inflight(work, "write back", back_to=target.id)
        if plan.changes:
            _write_files(work, plan.changes)
        work.wire.call("set_current", state=work.host.state, id=target.id)
        step.detail = f"{len(plan.changes)} files of release {target.id}"


def _write_files(work: Work, changes: tuple[Change, ...]) -> None:
    work.wire.call("files_write", changes=[_wire_change(change) for change in changes])


def _wire_change(change: Change) -> dict[str, Any]:
    return {
        "path": change.path,
        "before": None if change.before is None else hashlib.sha256(change.before).hexdigest(),
        "b64": None if change.after is None else base64.b64encode(change.after).decode(),
        "mode": change.mode,
        "uid": change.uid,
        "gid": change.gid,
        "check": "bash" if change.after is not None else None,
    }


def _save(
    work: Work, verdict: str, *, parent: str | None, files: Any, flags: Mapping[str, plans.Environment]
) -> Release:
    now = work.now()
    document = releases.manifest(
        releases.new_id(now),
        created=now,
        parent=parent,
        verdict=verdict,
        files=files,
        flags=flags,
        rollout=work.rollout,
    )
    work.wire.call(
        "release_save", state=work.host.state, manifest=document, files=[file.path for file in files]
    )
    return parse_release(document)


def inflight(work: Work, step: str, *, back_to: str) -> None:
    """Mark on the host what is under way, so that the next run can finish or undo it."""
    work.wire.call("inflight", state=work.host.state, doc={**_who(work), "step": step, "parent": back_to})


def _who(work: Work) -> dict[str, Any]:
    who = f"{work.operator.get('user')}@{work.operator.get('host')}"
    return {"who": who, "since": work.now().isoformat(timespec="seconds"), "rollout": work.rollout}


def restart(work: Work, plan: Plan) -> None:
    """Restart the plan's units in start order, each healthy before the next; raises GateError."""
    if plan.daemon_reload:
        with work.run.step("daemon-reload"):
            work.wire.call("daemon_reload")
    for item in plan.restarts:
        _restart_one(work, item, plan.wanted.get(item.role, {}))


def _restart_one(work: Work, item: Restart, wanted: plans.Environment) -> None:
    unit = work.host.unit(item.role)
    with work.run.step(f"restart {item.role}", budget_s=work.host.wait.health.total_s) as step:
        step.progress(item.why)
        work.at(step.name)
        before = int(work.wire.call("unit_restart", unit=item.unit)["before"] or 0)
        found = waiting.wait_up(work, unit, step, replaced_pid=before)
        if found.outcome is Outcome.PASS:
            found = _hold(work, unit.name) or found
        step.outcome, step.detail = found.outcome, found.message
    if found.outcome is not Outcome.PASS:
        raise GateError(f"{item.unit}: {found.message}", excerpt=waiting.journal(work, item.unit))
    pid = int(work.wire.call("units", units=[unit.name])[unit.name].get("MainPID") or 0)
    known = {name: value for name, value in wanted.items() if value is not None}
    work.wire.call("record_start", state=work.host.state, unit=item.unit, pid=pid, environ=known)


def _hold(work: Work, name: str) -> Any:
    """A unit counts as up once its MainPID has stayed for `hold_s`; a finding when it did not."""
    from runbook.probes import unit
    from runbook.verdict import Finding

    before = work.wire.call("units", units=[name])[name]
    work.pause(work.host.wait.hold_s)
    crash = unit.crashed(before, work.wire.call("units", units=[name])[name])
    return (
        Finding(
            "unit", Outcome.FAIL, f"{name} came up and crashed within {work.host.wait.hold_s:g} s: {crash}"
        )
        if crash
        else None
    )


def judge(work: Work, story: Story) -> tuple[str, str]:
    """The release's verdict and what the policy does about it: `keep` or `rollback`."""
    policy = work.host.policy
    failed = {finding.check for finding in work.run.findings if finding.outcome is Outcome.FAIL}
    if failed - {"bench"}:
        return "failed", policy.on_corrupt
    if failed:
        return "unproven", policy.on_bench
    outcome = worst(finding.outcome for finding in work.run.findings)
    if outcome is not Outcome.PASS:
        return "unproven", policy.on_inconclusive
    return ("unproven" if story.extra.get("validated") is False else "proven"), "keep"


def mark(work: Work, story: Story, verdict: str) -> None:
    """Write a deploy's verdict and results into its release."""
    with work.run.step("verdict") as step:
        fields: dict[str, Any] = {"verdict": verdict, "validations": story.measured.validations}
        if story.measured.bench is not None:
            fields["bench"] = story.measured.bench
        work.wire.call("release_update", state=work.host.state, id=story.release, fields=fields)
        step.detail = f"release {story.release} is {verdict}"


def may_return(work: Work, plan: Plan, parent: Release, *, serving: bool) -> bool:
    """Whether a rollback by itself is right; says why not."""
    reasons = {
        "this run changed no file, so there is nothing to go back from": not plan.changes,
        f"release {parent.id} failed its own verdict": parent.verdict == "failed",
        "the service was not serving before the change either": not serving,
    }
    for reason, holds in reasons.items():
        if holds:
            work.run.note(f"not rolled back by itself: {reason}; `rollback` is your choice")
            return False
    return True


def refuse_hand_edits(work: Work, seen: Observation, *, force: bool) -> None:
    """A rollback over files somebody edited by hand needs --force, which saves them first."""
    here = releases.current(seen)
    edited = releases.edited_since(seen, here) if here and not seen.inflight else ()
    if edited and not force:
        raise ReleaseError(
            f"{', '.join(edited)} changed since release {here.id if here else ''} by another hand; "
            "--force saves what is there as a release and goes back all the same"
        )


def plan_back(work: Work, seen: Observation, target: Release) -> Plan:
    """The plan to a release, from the bytes the host keeps of it."""
    stored = work.wire.call("release_read", state=work.host.state, id=target.id)
    return releases.plan_back(work.host, seen, stored["files"], target)


def settle(work: Work, story: Story) -> None:
    """Nothing is under way any more."""
    work.wire.call("inflight", state=work.host.state, doc=None)


def append_record(work: Work, story: Story, started: datetime.datetime) -> None:
    """Append the audit record on the host; a host that cannot take it is said, and the story's error stays first."""
    record = story.record(started=started, ended=work.now(), operator=work.operator)
    try:
        story.audit = work.wire.call(
            "audit_append", state=work.host.state, record=record, deadline_s=AUDIT_DEADLINE_S
        )
        work.run.show("audit", {**record, **story.audit})
    except RunbookError as error:
        work.run.show("audit", {**record, "seq": None, "hash": None})
        work.run.note(f"the audit record could not be appended on the host: {error}")
        story.error = story.error or error


def status(host: Host, seen: Observation) -> dict[str, Any]:
    """One host on one screen: units, flags with file and running value, release, what is under way. JSON values only."""
    here = releases.current(seen)
    return {
        "units": [_unit_status(unit.role, seen.units[unit.name]) for unit in host.units],
        "flags": [
            {"flag": row.flag.name, "unit": row.unit.role, "wanted": row.flag.value, "file": row.in_file, "running": row.running,
             "evidence": row.running_kind, "outcome": row.outcome.value}
            for row in flagtable.rows(host, seen)
        ],
        "current": here and {"id": here.id, "verdict": here.verdict, "age": releases.age(here, seen.now)},
        "inflight": seen.inflight,
        "lock": seen.lock_holder,
    }  # fmt: skip


def _unit_status(role: str, state: UnitState) -> dict[str, Any]:
    properties = state.properties
    return {
        "role": role,
        "unit": state.name,
        "state": f"{properties.get('ActiveState')}/{properties.get('SubState')}",
        "pid": state.main_pid,
        "since": state.processes.started_at or None,
        "restarts": int(properties.get("NRestarts") or 0),
        "evidence": state.processes.kind,
    }
