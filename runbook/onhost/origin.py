"""Where a state was made: a directory copied from another machine brings releases and rollouts that are none of ours."""

from __future__ import annotations

import hashlib
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_MACHINE_ID = "/etc/machine-id"
KEY = "made_on"


def here() -> dict[str, str]:
    """This machine as a document tells it: its name, and a digest of its id, which itself is nobody's business."""
    return {"host": os.uname().nodename, "machine": _digest(_MACHINE_ID)}


def _digest(path: str) -> str:
    """Empty where a machine has no id, as in a container (machine-id(5) asks to hash it with a word of one's own)."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            found = file.read(64).strip()
    except OSError:
        return ""
    return hashlib.sha256(f"runbook {found}".encode()).hexdigest()[:32] if found else ""


def elsewhere(document: Mapping[str, Any]) -> str:
    """The name of the machine a document was made on, where that is not this one; empty where it may well be.

    A machine may be renamed, and one without a disk of its own gets a new id with each boot: only both tell it apart.
    """
    made = document.get(KEY)
    if not isinstance(made, dict) or made.get("host") == os.uname().nodename:
        return ""
    ours, theirs = _digest(_MACHINE_ID), made.get("machine")
    return str(made.get("host") or "another machine") if ours and theirs and ours != theirs else ""
