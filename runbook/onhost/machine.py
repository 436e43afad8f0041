"""What the audit says of the machine: system, GPUs with their driver, and the revision of a source checkout on it."""

from __future__ import annotations

from runbook.onhost import command, observe
from runbook.onhost import gpus as nvidia
from runbook.onhost.calls import Refusal, reading
from runbook.onhost.state import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from runbook.onhost.session import Session

_GPU = ("index", "name", "driver", "memory_total_mib")
# A checkout's own configuration may name programs to run; none of them is run for a look.
_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_ASKED = (("rev-parse", "--verify", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
_TIMEOUT_S = 15.0


@reading
def machine(session: Session, checkout: Optional[str] = None) -> dict[str, Any]:
    return {
        **observe.facts(session.proc),
        "gpus": [{key: gpu[key] for key in _GPU} for gpu in nvidia.installed(session)],
        "checkout": None if checkout is None else revision(absolute(checkout)),
    }


def revision(path: str) -> dict[str, Any]:
    """A checkout's commit, and whether tracked files differ from it; `error` says why that is not known."""
    try:
        commit, changed = command.run_together((_git(path, *words) for words in _ASKED), timeout_s=_TIMEOUT_S)
    except Refusal as refusal:
        return {"path": path, "revision": None, "dirty": None, "error": refusal.message}
    return {"path": path, "revision": commit.strip(), "dirty": bool(changed.strip()), "error": None}


def _git(path: str, *words: str) -> list[str]:
    return [*_GIT, "-C", path, *words]
