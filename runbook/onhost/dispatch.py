"""From a request to its answer: find the call, check the mode, run it, say what went wrong in the wire's words."""

from __future__ import annotations

import errno
from importlib import import_module

from runbook.onhost import ran
from runbook.onhost.calls import Call, Refusal, permit

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


# Which module declares which calls. Imported when first asked for: most wires need few of them, and source that is
# not compiled is a third of the helper's start.
MODULES = {
    "audit": ("audit_append", "audit_heads", "audit_place", "audit_read"),
    "cache": ("cache_has", "cache_put"),
    "jobs": ("job_start", "job_poll", "job_stop"),
    "engine": ("engine",),
    "gpus": ("gpus",),
    "inflight": ("inflight", "inflight_step"),
    "journal": ("journal",),
    "listening": ("listening",),
    "lock": ("lock", "lock_step"),
    "machine": ("machine",),
    "mending": ("release_mend",),
    "observe": ("ping", "observe"),
    "processes": ("record_start",),
    "pruning": ("release_prune",),
    "releases": (
        "release_read",
        "release_remove",
        "release_save",
        "release_update",
        "set_current",
    ),
    "serving": ("serving",),
    "several": ("several",),
    "units": ("units", "daemon_reload", "unit_restart"),
    "write": ("files_write",),
    "xids": ("xids",),
}


def find(name: str) -> Call:
    """The call of a name; Refusal `invalid` where there is none."""
    module = next((module for module, names in MODULES.items() if name in names), None)
    if module is None:
        raise Refusal("invalid", f"no call named {name!r}")
    call: Call = getattr(import_module(f"runbook.onhost.{module}"), name)
    return call


def dispatch(name: str, args: Mapping[str, Any], session: Session) -> Any:
    """Run one call; Refusal where it is unknown, above the session's mode, or cannot be done."""
    call = find(name)
    permit(call, session.mode)
    try:
        return call(session, **args)
    except OSError as error:
        kind = _KINDS.get(error.errno or 0, "failed")
        said = str(error) if error.filename else f"{name}: {error}"  # of a descriptor no file is named
        raise Refusal(kind, said, {"path": error.filename, "errno": error.errno}) from error


def is_request(document: Any) -> bool:
    """Has it what an answer needs: an id, a call's name, and arguments by name, if any?"""
    return (
        isinstance(document, dict)
        and "id" in document
        and isinstance(document.get("call"), str)
        and isinstance(document.get("args") or {}, dict)
    )


def answer(request: Mapping[str, Any], session: Session) -> dict[str, Any]:
    """The answer to a request, with the programs it `ran`. What is no Refusal is a defect and raised; `defect` words it."""
    with ran.noted() as programs:
        said = _said(request, session)
    told = {"ran": [program.row() for program in programs]} if programs else {}
    return {"id": request["id"], **said, **told}


def _said(request: Mapping[str, Any], session: Session) -> dict[str, Any]:
    try:
        return {"ok": dispatch(request["call"], request.get("args") or {}, session)}
    except Refusal as refusal:
        return {"error": {"kind": refusal.kind, "message": refusal.message, "data": refusal.data}}


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
