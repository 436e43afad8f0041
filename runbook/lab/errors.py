"""What the lab raises: a lab that cannot be brought up is a host that is not fit to start."""

from __future__ import annotations

from runbook.errors import PreflightError


class LabError(PreflightError):
    """The embedded lab cannot be brought up; `str()` says why and what to do."""
