"""A session: what one helper keeps from call to call."""

from __future__ import annotations

from runbook.onhost.jobs import Jobs
from runbook.onhost.lock import Lock


class Session:
    """The mode the wire was opened in, the deploy lock and the jobs that die with us.

    `proc` is where the process file system is; tests lay their own.
    """

    def __init__(self, mode: str, *, lock: Lock | None = None, proc: str = "/proc") -> None:
        self.mode = mode
        self.lock = lock or Lock()
        self.jobs = Jobs()
        self.proc = proc

    def close(self) -> None:
        """Stop every job and free the lock."""
        self.jobs.stop_all()
        self.lock.close()
