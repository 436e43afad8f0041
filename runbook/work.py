"""What a rollout works with, handed in from outside: the host, the ways to reach it, the clock, the operator."""

from __future__ import annotations

import datetime
import secrets
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from runbook.observation import observe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runbook.audit.owed import Owed
    from runbook.events import Run
    from runbook.model import Host, Observation
    from runbook.ssh import Wire
    from runbook.tunnel import Tunnel


def utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def new_id(now: datetime.datetime) -> str:
    """A release or rollout id that sorts by time: `20261130T031649-5f3a`."""
    return f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"


class Work(NamedTuple):
    """One host at work. `checkpoint` raises InterruptedByOperator once the operator asked to stop.

    `confirm` and `offer` ask a yes-or-no question: `confirm` is true where the command line already said yes (`asks`:
    it did not), `offer` only where a person answers. `overrides` are flags whose wanted value, None for absent, the
    command line gave and the host file does not, `undeclared` those of them that it does not name. `tool` is what runs here
    (runbook.provenance), `sign` makes the operator's signature of an audit record where there is a key, `owed` keeps
    here what could not be appended there. `sleep` takes seconds.
    """

    host: Host
    run: Run
    wire: Wire
    tunnel: Tunnel
    rollout: str
    operator: Mapping[str, Any] = {}
    tool: Mapping[str, Any] = {}
    reason: str = ""
    sign: Callable[[bytes], str] | None = None
    overrides: Mapping[str, str | None] = {}
    undeclared: Sequence[str] = ()
    api_key: str | None = None
    owed: Owed | None = None
    asks: bool = False
    confirm: Callable[[str], bool] = lambda question: False
    offer: Callable[[str], bool] = lambda question: False
    checkpoint: Callable[[], None] = lambda: None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime.datetime] = utc_now

    def pause(self, seconds: float) -> None:
        """Sleep in slices, so that an operator's Ctrl-C ends it within a fifth of a second."""
        until = self.clock() + seconds
        while (left := until - self.clock()) > 0:
            self.checkpoint()
            self.sleep(min(left, 0.2))
        self.checkpoint()

    def who(self) -> dict[str, Any]:
        """Who is at work, since when, on which rollout: what a lock and `inflight.json` say of us."""
        who = f"{self.operator.get('user')}@{self.operator.get('host')}"
        return {"who": who, "since": self.now().isoformat(timespec="seconds"), "rollout": self.rollout}

    def at(self, step: str) -> None:
        """Tell whoever finds the host locked how far we are; only a wire that writes holds the lock."""
        if self.wire.mode == "writing":
            self.wire.call("lock_step", step=step)

    def observe(self, also: Sequence[str] = ()) -> Observation:
        return observe(self.wire, self.host, also)
