"""What is under way on the host, marked there before each deed and after it, so that whoever comes next can settle it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from runbook.errors import RunbookError
from runbook.onhost.masking import mask_text
from runbook.ssh.row import asked, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runbook.ssh.row import Asked
    from runbook.work import Work


def begin(work: Work, action: str, *, back_to: str | None) -> None:
    """Open the book of a rollout. `back_to` is the release a rollback goes to should this one be interrupted; None where
    no file changes: then it goes where it would have gone before."""
    together(work.wire, opened(work, action, back_to=back_to))


def opened(work: Work, action: str, *, back_to: str | None, by_hand: Iterable[str] = ()) -> Asked:
    """The call by which `begin` opens the book; `by_hand` are the variables of --set that its files will have."""
    doc = {**work.who(), **_why(work), "action": action, "step": None, "parent": back_to}
    doc["by_hand"] = sorted(by_hand)
    return asked("inflight", state=work.host.state, doc=doc)


def around(work: Work, step: str, *row: Asked) -> tuple[Asked, ...]:
    """A row of calls with their marks: that the step begins, and that it is done, should none of them fail."""
    return (_mark(work, step, done=False), *row, _mark(work, step, done=True))


def _why(work: Work) -> dict[str, Any]:
    """What the record of a rollout needs that leaves none itself: the next one writes it."""
    return {"operator": dict(work.operator), "reason": mask_text(work.reason), "tool": dict(work.tool)}


@contextlib.contextmanager
def marked(work: Work, step: str) -> Iterator[None]:
    """Mark that a step begins, and that it is done unless the body raises."""
    together(work.wire, _mark(work, step, done=False))
    yield
    together(work.wire, _mark(work, step, done=True))


def _mark(work: Work, step: str, *, done: bool) -> Asked:
    return asked("inflight_step", state=work.host.state, rollout=work.rollout, step=step, done=done)


def settle(work: Work) -> None:
    """Nothing is under way any more; releases beyond `keep_releases` go."""
    work.wire.call("inflight", state=work.host.state, doc=None)
    try:
        removed = work.wire.call("release_prune", state=work.host.state, keep=work.host.keep_releases)[
            "removed"
        ]
    except RunbookError as error:
        work.run.note(f"old releases could not be removed: {error}")
        return
    if removed:
        work.run.note(
            f"removed {len(removed)} old releases (keep_releases: {work.host.keep_releases}): {', '.join(removed)}"
        )


def told(doc: Mapping[str, Any]) -> str:
    """An interrupted rollout in one sentence: what of it is done, and in which step it stopped."""
    what = (
        f"{doc.get('action') or 'rollout'} {doc.get('rollout')} by {doc.get('who')}, begun {doc.get('since')}"
    )
    return f"{what}: {_how_far(doc)}; the next deploy or rollback settles it"


def _how_far(doc: Mapping[str, Any]) -> str:
    steps = doc.get("steps")
    steps = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    done = [str(step.get("name")) for step in steps if step.get("ended")]
    stopped = [str(step.get("name")) for step in steps if not step.get("ended")]
    so_far = f"done: {', '.join(done)}" if done else "no step of it is done"
    return f"{so_far}; stopped in: {', '.join(stopped)}" if stopped else f"{so_far}; stopped after it"
