"""Files that are not the current release's any more: what a hand changed, and what it took away."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from runbook import lineage, observation, shipped
from runbook.errors import MissingOnHostError
from runbook.plan import sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runbook.model import Host, Observation, Release


class HandEdit(NamedTuple):
    """A file whose bytes are not those of `release`, the current one; `kept_by`: the youngest release that has the very
    bytes that are there now, as `restore.sh` leaves them."""

    path: str
    release: str
    gone: bool
    kept_by: str | None

    @property
    def told(self) -> str:
        if self.gone:
            return f"{self.path} is gone since release {self.release}, by another hand"
        whose = (
            f"is as release {self.kept_by} has it, not"
            if self.kept_by
            else "was edited by another hand since"
        )
        return f"{self.path} {whose} release {self.release}"


def current(seen: Observation) -> Release | None:
    """The release the host says it is at; None where it says none, or one that is gone or damaged (see `releases.remarks`)."""
    return next((release for release in seen.releases if release.id == seen.current), None)


def edited_since(seen: Observation, release: Release) -> tuple[str, ...]:
    """Paths whose bytes on disk are not the release's; of a file that the login may not read nobody can say so."""
    return tuple(
        record.path
        for record in release.files
        if record.path in seen.files
        and not seen.files[record.path].denied
        and sha256(seen.files[record.path].content) != record.sha256
    )


def of(seen: Observation) -> tuple[HandEdit, ...]:
    """Of a look at a host, in the order of the release's files. What an interrupted rollout wrote is nobody's hand."""
    here = current(seen)
    if here is None or (seen.inflight or {}).get("parent"):
        return ()
    return tuple(_edit(seen, here, path) for path in edited_since(seen, here))


def tell(seen: Observation, say: Callable[[str], None]) -> tuple[HandEdit, ...]:
    """Say each edit in a line of its own; returns them."""
    edits = of(seen)
    for edit in edits:
        say(edit.told)
    return edits


def _edit(seen: Observation, here: Release, path: str) -> HandEdit:
    file = seen.files[path]
    digest = sha256(file.content)
    known = lineage.newest_first(seen.releases)
    keeping = (one.id for one in known if digest and _digest(one, path) == digest)
    return HandEdit(path, here.id, file.absent, next(keeping, None))


def _digest(release: Release, path: str) -> str | None:
    return next((record.sha256 for record in release.files if record.path == path), None)


def put_back(host: str, release_id: str) -> str:
    """The very command that puts a release's files back over what is there, as a shell takes it."""
    words = ("rollback", "--host", host, "--to", release_id, "--force")
    return shlex.join((shipped.command(), *words))


def ways(host: str, here: Release, target: Release | None) -> Iterator[str]:
    """Where a rollback may go from files that are not the current release's any more, each with its command."""
    yield f"to put back {here.id}, the current one:"
    yield f"  {put_back(host, here.id)}"
    if target and target.id != here.id:
        yield f"to go to {target.id}, {'its parent' if target.id == here.parent else target.verdict}:"
        yield f"  {put_back(host, target.id)}"
    yield "--force saves what is there as a release first, and goes there all the same"


def require_scripts(host: Host, seen: Observation) -> None:
    """Raise MissingOnHostError for a script that is not there, with the release that has it and the way back to it."""
    try:
        observation.require_scripts(host, seen)
    except MissingOnHostError as error:
        missing = [path for path in host.scripts if seen.files[path].absent]
        way = list(_way_back(host, seen, missing)) if missing else []
        raise MissingOnHostError("\n".join((str(error), *way))) from None


def _way_back(host: Host, seen: Observation, missing: Sequence[str]) -> Iterator[str]:
    known = lineage.newest_first(seen.releases)
    holding = [one for one in known if all(_digest(one, path) for path in missing)]
    here = [one for one in holding if one.id == seen.current]
    best = next(iter(here or holding), None)
    if best is None:
        yield "no release on the host has it: put it back there, or name another script in the host file"
        return
    yield f"release {best.id} has it{', the current one' if here else ''}; to put it back:"
    yield f"  {put_back(host.name, best.id)}"
