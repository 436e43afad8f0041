"""Files and releases: what is there is kept, the plan is written, and an older release is put back."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from runbook import edits, leftovers, lineage, planning, releases
from runbook.observation import release as parse_release
from runbook.plan import sha256
from runbook.ssh.row import asked, together
from runbook.stages import inflight
from runbook.text import counted
from runbook.work import new_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runbook.model import Change, Host, Observation, Release, UnitState
    from runbook.plan import Environment, Plan
    from runbook.ssh.row import Asked
    from runbook.work import Work


def secure(work: Work, seen: Observation, engine: Mapping[str, Any] | None = None) -> Release:
    """The release to come back to: current, or what is on disk saved as `adopted` when no release holds it.

    `engine` is what it serves with now (`stages.engine.look`).
    """
    here, standing = releases.current(seen), releases.standing(seen)
    if standing is not None:
        return standing
    for remark in releases.remarks(seen):
        work.run.note(remark)
    with work.run.step("save what is there") as step:
        document = _manifest(
            work,
            "adopted",
            parent=here.id if here else None,
            files=releases.records(seen.files),
            flags=(flags := _flags(work.host, seen)),
            engine=engine,
            units=seen.units,
            by_hand=leftovers.standing(work.host, leftovers.names(seen), flags, work.undeclared),
            unfinished=_written_and_left(seen),
        )
        together(work.wire, *_saved(work, document))
        step.detail = f"release {document['id']} (adopted)"
    return parse_release(document)


def _flags(host: Host, seen: Observation) -> dict[str, Environment]:
    return dict(planning.toward(host, seen, ()).wanted)


def _written_and_left(seen: Observation) -> bool:
    """Whether what is on disk was written by a rollout that did not come to its end, and is not what a good release has:
    one that a rollback was about to make current again did run."""
    return bool((seen.inflight or {}).get("parent")) and not any(
        releases.holds(one, seen.files) and not releases.edited_since(seen, one)
        for one in seen.releases
        if not lineage.amiss(one)
    )


def by_hand(work: Work, seen: Observation, plan: Plan) -> dict[str, str]:
    """What of --set, of this run and of those before, no host file names and the plan's files have."""
    given = leftovers.names(seen).union(work.undeclared)
    return leftovers.standing(work.host, given, plan.wanted, work.undeclared)


def write(
    work: Work, plan: Plan, seen: Observation, parent: Release, engine: Mapping[str, Any] | None = None
) -> str:
    """Write the plan's files and save them as a release, in one round trip; without changes the parent stays current."""
    left = by_hand(work, seen, plan)
    if not plan.changes:
        if not plan.empty:
            inflight.begin(work, "deploy", back_to=None)
        if not left.keys() <= set(parent.by_hand):
            work.wire.call(
                "release_update", state=work.host.state, id=parent.id, fields={"by_hand": sorted(left)}
            )
        return parent.id
    with work.run.step("write") as step:
        document = _manifest(
            work,
            "unproven",
            parent=parent.id,
            files=releases.records(seen.files, plan.changes),
            flags=plan.wanted,
            engine=engine,
            units=seen.units,
            by_hand=left,
            unfinished=True,
        )
        deeds = inflight.around(work, "write", _written(work, plan), *_saved(work, document))
        kept, *_ = together(
            work.wire,
            asked("release_mend", state=work.host.state, id=parent.id),
            inflight.opened(work, "deploy", back_to=parent.id, by_hand=left),
            *deeds,
        )
        _tell_of_damage(work, parent, kept)
        step.detail = f"{counted(len(plan.changes), 'file')}, release {document['id']}"
    return str(document["id"])


def _tell_of_damage(work: Work, parent: Release, kept: Mapping[str, Sequence[str]]) -> None:
    if kept["mended"]:
        work.run.note(f"release {parent.id} was damaged and is whole again: {', '.join(kept['mended'])}")
    if kept["damaged"]:
        work.run.note(
            f"release {parent.id} is damaged, a rollback to it cannot give back: {', '.join(kept['damaged'])}"
        )


def write_back(work: Work, plan: Plan, target: Release) -> None:
    """Put a release's bytes back and make it current, in one round trip."""
    with work.run.step("write back") as step:
        written = (_written(work, plan),) if plan.changes else ()
        deeds = inflight.around(work, "write back", *written, _current(work, target.id))
        opened = inflight.opened(work, "rollback", back_to=target.id, by_hand=target.by_hand)
        together(work.wire, opened, *deeds)
        step.detail = f"{counted(len(plan.changes), 'file')} of release {target.id}"


def _written(work: Work, plan: Plan) -> Asked:
    return asked("files_write", changes=[_wire_change(work.host, change) for change in plan.changes])


def _wire_change(host: Host, change: Change) -> dict[str, Any]:
    shell = change.after is not None and change.path in host.shell_files
    shell = shell and edits.script_kind(change.path) == edits.SHELL
    return {
        "path": change.path,
        "before": sha256(change.before),
        "b64": None if change.after is None else base64.b64encode(change.after).decode(),
        "mode": change.mode,
        "uid": change.uid,
        "gid": change.gid,
        "check": "bash" if shell else None,
        "xattrs": dict(change.xattrs) if change.before is None else {},
    }


def _manifest(
    work: Work,
    verdict: str,
    *,
    parent: str | None,
    files: Any,
    flags: Mapping[str, Environment],
    engine: Mapping[str, Any] | None,
    units: Mapping[str, UnitState],
    by_hand: Iterable[str] = (),
    unfinished: bool = False,
) -> dict[str, Any]:
    now = work.now()
    return releases.manifest(
        new_id(now),
        created=now,
        parent=parent,
        verdict=verdict,
        files=files,
        flags=flags,
        rollout=work.rollout,
        engine=engine,
        units=units,
        by_hand=by_hand,
        unfinished=unfinished,
    )


def _saved(work: Work, document: Mapping[str, Any]) -> tuple[Asked, Asked]:
    """A release of what is on disk now, made current."""
    files = [file["path"] for file in document["files"]]
    saved = asked("release_save", state=work.host.state, manifest=document, files=files)
    return saved, _current(work, document["id"])


def _current(work: Work, release: str) -> Asked:
    return asked("set_current", state=work.host.state, id=release)


def plan_back(work: Work, seen: Observation, target: Release) -> Plan:
    """The plan to a release, from the bytes the host keeps of it; files nobody declares any more are looked at too."""
    stored = work.wire.call("release_read", state=work.host.state, id=target.id)
    more = [record.path for record in target.files if record.path not in seen.files]
    seen = work.observe(also=more) if more else seen
    plan = releases.plan_back(work.host, seen, stored["files"], target)
    return plan._replace(notes=(*plan.notes, *_unowned(work.host, plan)))


def _unowned(host: Host, plan: Plan) -> Iterator[str]:
    """Files of a release that no unit of the host file has any more: what runs them is not known."""
    for change in plan.changes:
        if change.path not in host.files:
            yield f"{change.path} is put back, but no unit of {host.source} declares it: nothing restarts for it"
