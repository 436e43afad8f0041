"""A session: what one helper keeps from call to call."""

from __future__ import annotations

from runbook.onhost.jobs import Jobs
from runbook.onhost.lock import Lock


class Session:
    """The mode the wire was opened in, the deploy lock and the jobs that die with us.

    `proc` is where the process file system is; tests lay their own. `scope` says whose units we work on: the machine's
    (`system`) or our own (`user`). `hanging` is what became of an nvidia-smi that did not answer, empty as long as none did.
    """

    def __init__(
        self, mode: str, *, lock: Lock | None = None, proc: str = "/proc", scope: str = "system"
    ) -> None:
        self.mode = mode
        self.lock = lock or Lock()
        self.jobs = Jobs()
        self.proc = proc
        self.scope = scope
        self.hanging = ""

    def close(self) -> None:
        """Stop every job and free the lock."""
        self.jobs.stop_all()
        self.lock.close()
