"""Old releases go, so that a host deployed to for years does not fill its disk."""

from __future__ import annotations

from runbook.onhost import inflight, releases
from runbook.onhost import state as directory
from runbook.onhost.calls import writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from runbook.onhost.session import Session


@writing
def release_prune(session: Session, state: str, keep: int) -> dict[str, list[str]]:
    """Remove all but the newest `keep` releases, then the bytes that none of those left refers to; the ids that went."""
    session.lock.require(state)
    if not directory.exists(state):
        return {"removed": []}
    back_to = (inflight.read(state) or {}).get("parent")
    removed = surplus(releases.manifests(state), keep, releases.current(state), back_to)
    for release in removed:
        releases.release_remove(session, state=state, id=release)
    releases.sweep(state)
    return {"removed": removed}


def surplus(known: list[dict[str, Any]], keep: int, here: str | None, back_to: str | None) -> list[str]:
    """The releases to remove, oldest first as `known` is: never the current one nor its parent, whatever `keep` says,
    nor where a rollback from it goes, nor what an interrupted rollout goes back to; and none at all where no release is
    current."""
    parents = {one["id"]: one.get("parent") for one in known if isinstance(one.get("id"), str)}
    if here is None or here not in parents or keep < 1:
        return []
    kept = [*_way_back(known, parents, here), back_to, *list(parents)[-keep:]]
    return [name for name in parents if name not in kept]


def _way_back(known: list[dict[str, Any]], parents: dict[str, Any], here: str) -> list[Any]:
    """The current release and those before it, as far as the first that is fit to be gone back to (`runbook/lineage.py`)."""
    amiss = [
        one.get("id") for one in known if one.get("unfinished") is True or one.get("verdict") == "failed"
    ]
    line = [here, parents[here]]
    while line[-1] in amiss and parents[line[-1]] not in line:
        line.append(parents[line[-1]])
    return line
