"""`inflight.json`: what a rollout is about to do and what of it is done, on the disk before the deed and after it.

Whoever finds it with nobody at work knows what was interrupted, and in which step.
"""

from __future__ import annotations

import os
import time

from runbook.onhost import lock, origin
from runbook.onhost import state as directory
from runbook.onhost.calls import writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from runbook.onhost.session import Session


def path_of(state: str) -> str:
    return os.path.join(state, "inflight.json")


def read(state: str) -> dict[str, Any] | None:
    """The rollout under way or interrupted; None: none, or another machine's."""
    found = directory.read_json(path_of(state))
    return found if isinstance(found, dict) and not origin.elsewhere(found) else None


def under_way(state: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The book of a rollout and the lock's holder; a book without a holder is of a rollout that nobody is at work on.

    Whoever ends takes the book away before the lock: found without a holder, it is looked at again.
    """
    left, held = read(state), lock.holder(state)
    return (read(state) if left and held is None else left), held


def steps_of(doc: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The steps marked so far: name, `began` and `ended` (None: not done), by the host's clock."""
    steps = (doc or {}).get("steps")
    return [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []


def begun(steps: list[dict[str, Any]], step: str, now: str) -> list[dict[str, Any]]:
    return [*steps, {"name": step, "began": now, "ended": None}]


def ended(steps: list[dict[str, Any]], step: str, now: str) -> list[dict[str, Any]]:
    """The last step of that name is done."""
    last = max((at for at, one in enumerate(steps) if one.get("name") == step), default=-1)
    return [{**one, "ended": now} if at == last else one for at, one in enumerate(steps)]


@writing
def inflight(session: Session, state: str, doc: Mapping[str, Any] | None) -> dict[str, Any]:
    path = path_of(directory.ensure(state))
    if doc is None:
        directory.remove(path)
        return {}
    before = read(state)
    # A rollout that turns back goes on in the same book.
    same = before is not None and before.get("rollout") == doc.get("rollout")
    steps = steps_of(before) if same else []
    directory.write_json(path, {**doc, "steps": steps, origin.KEY: origin.here()})
    return {}


@writing
def inflight_step(session: Session, state: str, rollout: str, step: str, done: bool) -> dict[str, Any]:
    """Mark a step of this rollout; nothing where none of it is under way."""
    doc = read(state) if directory.exists(state) else None
    if doc is None or doc.get("rollout") != rollout:
        return {}
    now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
    steps = (ended if done else begun)(steps_of(doc), step, now)
    directory.write_json(path_of(state), {**doc, "step": step, "steps": steps})
    return {}
