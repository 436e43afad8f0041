"""Releases: intended states of a host that can be returned to; choosing one and planning the way back."""

from __future__ import annotations

import base64
import datetime
import statistics
from typing import TYPE_CHECKING, Any

from runbook import lineage
from runbook.errors import ReleaseError, UsageError
from runbook.handedits import current as current
from runbook.handedits import edited_since as edited_since
from runbook.measured import corrupt_of
from runbook.model import Change, FileRecord, Release
from runbook.plan import sha256
from runbook.planning import toward
from runbook.text import span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runbook.model import FileState, Host, Observation, UnitState
    from runbook.plan import Environment, Plan

_NAMED = 8  # releases in one message


def manifest(
    release_id: str,
    *,
    created: datetime.datetime,
    parent: str | None,
    verdict: str,
    files: Sequence[FileRecord],
    flags: Mapping[str, Environment],
    rollout: str,
    engine: Mapping[str, Any] | None = None,
    units: Mapping[str, UnitState] | None = None,
    by_hand: Iterable[str] = (),
    unfinished: bool = False,
) -> dict[str, Any]:
    """A release as the host keeps it; `Release` is what `observation.release` reads back from it."""
    return {
        "schema": 1,
        "id": release_id,
        "created": created.isoformat(timespec="seconds"),
        "parent": parent,
        "verdict": verdict,
        "files": [
            {
                "path": file.path,
                "sha256": file.sha256,
                "mode": file.mode,
                "uid": file.uid,
                "gid": file.gid,
                "link": file.link,
            }
            for file in files
        ],
        "flags": {role: dict(environment) for role, environment in flags.items()},
        "rollout": rollout,
        "validations": [],
        "bench": None,
        "engine": dict(engine or {}),
        "units": {name: _unit(state) for name, state in (units or {}).items()},
        "by_hand": sorted(by_hand),
        "unfinished": unfinished,
    }


def _unit(state: UnitState) -> dict[str, Any]:
    """How a unit stood when a release was made; told, never put back."""
    names = ("LoadState", "ActiveState", "SubState", "UnitFileState", "MainPID", "NRestarts")
    return {name: state.properties.get(name) for name in names}


def records(files: Mapping[str, FileState], changes: Sequence[Change] = ()) -> tuple[FileRecord, ...]:
    """The files of a release as they are on disk, with `changes` applied."""
    after = {change.path: change.after for change in changes}
    return tuple(
        FileRecord(
            path=path,
            sha256=sha256(after.get(path, file.content)),
            mode=file.mode,
            uid=file.uid,
            gid=file.gid,
            link=file.real_path if file.real_path != path else None,
        )
        for path, file in files.items()
    )


def remarks(seen: Observation) -> list[str]:
    """What is wrong with the releases on the host, for people."""
    damaged = ", ".join(seen.damaged)
    said = (
        [f"among the releases lies what is none, or damaged: {damaged}; it is left alone"] if damaged else []
    )
    if seen.current and current(seen) is None:
        said.append(
            f"release {seen.current} should be current, but is gone or damaged: the next deploy saves what is there"
        )
    return said


def find(seen: Observation, release_id: str) -> Release:
    """The release of an id or of a unique beginning of one; raises ReleaseError."""
    found = [release for release in seen.releases if release.id.startswith(release_id)]
    found = [release for release in found if release.id == release_id] or found
    if len(found) != 1:
        known = _youngest(seen.releases)
        what = "is not unique" if found else "does not exist"
        raise ReleaseError(f"release {release_id!r} {what}; releases on the host: {known}")
    return found[0]


def _youngest(releases: Sequence[Release]) -> str:
    """The ids of the last few, youngest first, and how many more there are."""
    ids = [release.id for release in lineage.newest_first(releases)]
    more = [f"and {len(ids) - _NAMED} more"] if len(ids) > _NAMED else []
    return ", ".join((*ids[:_NAMED], *more)) or "none"


def named(seen: Observation, text: str) -> Release:
    """The release that the command line names; raises UsageError, as for any word of it that makes no sense."""
    try:
        return find(seen, text)
    except ReleaseError as error:
        raise UsageError(str(error)) from error


def standing(seen: Observation) -> Release | None:
    """The current release where it is what lies on the disk: it holds every file, and none was edited since."""
    here = current(seen)
    whole = here is not None and holds(here, seen.files) and not edited_since(seen, here)
    return here if whole else None


def holds(release: Release, paths: Iterable[str]) -> bool:
    """Whether a release says of every one of these files what it should be."""
    return {record.path for record in release.files}.issuperset(paths)


def rollback_target(seen: Observation, to: str | None) -> Release:
    """Where a rollback goes: `to`; else where an interrupted rollback was going; else to the nearest release that is fit,
    from what an interrupted deploy started from or else the parent of current on; where none is fit to just that one.

    Raises UsageError for a `to` that is not there, ReleaseError where there is no such place.
    """
    if to:
        return named(seen, to)
    start = _start_of_the_way_back(seen)
    return start if _was_going_back(seen) else lineage.fit(seen.releases, start)


def passed_over(seen: Observation, target: Release) -> list[Release]:
    """The releases a rollback without `to` would come by before `target`, each of them not fit to be gone back to."""
    start = _start_of_the_way_back(seen)
    return lineage.passed_over(seen.releases, start, target)


def _was_going_back(seen: Observation) -> bool:
    left = seen.inflight or {}
    return left.get("action") == "rollback" and isinstance(left.get("parent"), str)


def _start_of_the_way_back(seen: Observation) -> Release:
    interrupted = (seen.inflight or {}).get("parent")
    if isinstance(interrupted, str):
        return find(seen, interrupted)
    here = current(seen)
    if here is None and seen.current:
        raise ReleaseError(
            f"release {seen.current}, the current one, is gone or damaged, and with it what came before it; "
            f"--to names another: {', '.join(release.id for release in seen.releases) or 'there is none'}"
        )
    if here is None:
        raise ReleaseError(
            "no release on this host yet: nothing was deployed from here, so there is nothing to return to"
        )
    if here.parent is None:
        raise ReleaseError(
            f"release {here.id} is the first one: it has no parent to return to (--to RELEASE names another)"
        )
    return find(seen, here.parent)


def plan_back(
    host: Host, seen: Observation, contents: Mapping[str, Mapping[str, Any]], release: Release
) -> Plan:
    """The plan that puts a release's files back; `contents` is the helper's `release_read` answer's files."""
    changes = tuple(
        change
        for record in release.files
        if (change := _change(record, seen.files.get(record.path), contents.get(record.path))) is not None
    )
    return toward(host, seen, changes)


def _change(record: FileRecord, file: FileState | None, stored: Mapping[str, Any] | None) -> Change | None:
    before = file.content if file else None
    after = _stored(record, stored)
    if before == after:
        return None
    # The mode is put back only with bytes that are put back: a file nobody changed keeps its own.
    return Change(
        record.path, before, after, mode=record.mode, uid=record.uid, gid=record.gid, xattrs=record.xattrs
    )


def _stored(record: FileRecord, stored: Mapping[str, Any] | None) -> bytes | None:
    if record.sha256 is None:
        return None
    content = base64.b64decode((stored or {}).get("b64") or "")
    if sha256(content) != record.sha256:
        raise ReleaseError(
            f"the stored copy of {record.path} does not match its digest: this release is damaged, choose another with --to"
        )
    return content


def table(seen: Observation) -> list[dict[str, Any]]:
    """The releases, newest first, as JSON rows."""
    return [
        {
            "id": release.id,
            "current": release.id == seen.current,
            "verdict": release.verdict,
            "created": release.created,
            "age": age(release, seen.now),
            "parent": release.parent,
            "unfinished": release.unfinished,
            "corrupt": {run["name"]: corrupt_of(run) for run in release.validations},
            "upper_95": {run["name"]: run["upper_95"] for run in release.validations},
            "tok_s": _rates(release.bench),
        }
        for release in lineage.newest_first(seen.releases)
    ]


def _rates(bench: Mapping[str, Any] | None) -> dict[str, float]:
    """Concurrency → median output tok/s of a release's bench; 0 stands for no limit."""
    levels = (bench or {}).get("levels") or ()
    return {
        str(level.get("concurrency") or 0): round(statistics.median(level["output_tok_s"]), 1)
        for level in levels
        if level.get("output_tok_s")
    }


def age(release: Release, now: float) -> str:
    """How old a release is, for people."""
    return span(max(0.0, now - datetime.datetime.fromisoformat(release.created).timestamp()))
