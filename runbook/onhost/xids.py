"""Xid errors: what the NVIDIA driver has reported of its GPUs in the kernel's log since this boot."""

from __future__ import annotations

from runbook.onhost import command
from runbook.onhost.calls import Refusal, reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from runbook.onhost.session import Session

# The journal has dates; dmesg is there on hosts whose journal keeps no kernel messages.
_ASKED = (
    ("journalctl", "--no-pager", "--quiet", "--dmesg", "--boot", "--output=short-iso", "--lines=20000"),
    ("dmesg", "--time-format=iso"),
    ("dmesg",),
)
_SAYS = "NVRM: Xid"
_LINES = 20
_TIMEOUT_S = 15.0


@reading
def xids(session: Session) -> dict[str, Any]:
    """`lines`, the youngest of them, and `count`; `detail` says why the kernel's log could not be read."""
    complaint = ""
    for argv in _ASKED:
        try:
            text = command.run(argv, timeout_s=_TIMEOUT_S)
        except Refusal as refusal:
            complaint = refusal.message
            continue
        found = [line.strip() for line in text.splitlines() if _SAYS in line]
        if found or text.strip():
            return {"lines": found[-_LINES:], "count": len(found), "detail": ""}
    return {"lines": [], "count": 0, "detail": complaint or "the kernel's log is empty"}
