"""From a request to its answer: find the call, check the mode, run it, say what went wrong in the wire's words."""

from __future__ import annotations

import errno

from runbook.onhost import (
    audit,
    cache,
    jobs,
    journal,
    listening,
    lock,
    observe,
    processes,
    releases,
    units,
    write,
)
from runbook.onhost.calls import Call, Refusal, collect, permit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from runbook.onhost.session import Session

_KINDS = {
    errno.ENOSPC: "no-space",
    errno.EDQUOT: "no-space",
    errno.EROFS: "read-only",
    errno.ENOENT: "missing",
    errno.ENOTDIR: "missing",
}


def calls() -> dict[str, Call]:
    """Every call of the helper, by name."""
    return collect((audit, cache, jobs, journal, listening, lock, observe, processes, releases, units, write))


def dispatch(name: str, args: Mapping[str, Any], session: Session) -> Any:
    """Run one call; Refusal where it is unknown, above the session's mode, or cannot be done."""
    call = calls().get(name)
    if call is None:
        raise Refusal("invalid", f"no call named {name!r}")
    permit(call, session.mode)
    try:
        return call(session, **args)
    except OSError as error:
        kind = _KINDS.get(error.errno or 0, "failed")
        raise Refusal(kind, str(error), {"path": error.filename, "errno": error.errno}) from error


def answer(request: Mapping[str, Any], session: Session) -> dict[str, Any]:
    """The answer to a request. What is no Refusal is a defect and raised; `defect` words it."""
    try:
        return {"id": request["id"], "ok": dispatch(request["call"], request.get("args") or {}, session)}
    except Refusal as refusal:
        problem = {"kind": refusal.kind, "message": refusal.message, "data": refusal.data}
        return {"id": request["id"], "error": problem}


def defect(request: Mapping[str, Any], error: BaseException) -> dict[str, Any]:
    """The answer to a request that ran into a defect of ours: its last traceback lines."""
    import traceback

    trace = traceback.format_exception(type(error), error, error.__traceback__)
    problem = {
        "kind": "internal",
        "message": f"{type(error).__name__}: {error}",
        "data": {"trace": "".join(trace)[-4000:]},
    }
    return {"id": request.get("id"), "error": problem}
