"""The way to a host: its hops and how to log in on each; it can be gone again when the connection was lost."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.ssh.login import login

if TYPE_CHECKING:
    from collections.abc import Callable

    import paramiko

    from runbook.ssh.hops import Hop


@dataclass(frozen=True, slots=True)
class Route:
    """Hops from the outermost to the host itself; see `runbook.ssh.connect` for the rest."""

    hops: tuple[Hop, ...]
    accept_new: bool
    ask: Callable[[str], str] | None
    timeout_s: float

    @property
    def host(self) -> Hop:
        return self.hops[-1]

    def connect(self) -> tuple[paramiko.Transport, contextlib.ExitStack]:
        """The transport to the host, and what closes it and every hop before; raises UnreachableError."""
        transport: paramiko.Transport | None = None
        with contextlib.ExitStack() as stack:
            for hop in self.hops:
                transport = login(
                    hop, transport, stack, accept_new=self.accept_new, ask=self.ask, timeout_s=self.timeout_s
                )
            assert transport is not None
            return transport, stack.pop_all()
