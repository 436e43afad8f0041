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
    nor where a rollback goes from it or from another that stays, past what is not fit, nor what an interrupted rollout goes
    back to; and none at all where no release is current."""
    parents = {one["id"]: one.get("parent") for one in known if isinstance(one.get("id"), str)}
    if here is None or here not in parents or keep < 1:
        return []
    amiss = [one["id"] for one in known if one.get("id") in list(parents) and _is_amiss(one)]
    kept = [here, parents[here], back_to, *list(parents)[-keep:]]
    for release in [*kept]:
        kept += _past(amiss, parents, release)
    return [name for name in parents if name not in kept]


def _is_amiss(manifest: dict[str, Any]) -> bool:
    """Whether nobody should go back to it (`runbook/lineage.py`)."""
    return manifest.get("unfinished") is True or manifest.get("verdict") == "failed"


def _past(amiss: list[str], parents: dict[str, Any], release: Any) -> list[Any]:
    """Those before a release that are not fit to be gone back to, and the first that is; none where its parent is."""
    line: list[Any] = []
    here = release
    while isinstance(here, str) and parents.get(here) in amiss and parents[here] not in line:
        here = parents[here]
        line.append(here)
    return [*line, parents[here]] if line else []
