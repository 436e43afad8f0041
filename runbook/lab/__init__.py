"""The embedded lab: a host of one's own on loopback, no root and no GPU needed (docs/architecture.md, The lab)."""

from runbook.lab.lifecycle import down, status, up
from runbook.lab.state import LabState

__all__ = ["LabState", "down", "status", "up"]
