"""The way to a host: its hops and how to log in on each; it can be gone again when the connection was lost."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from runbook.ssh.login import Login, login

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.ssh.hops import Hop


class Route(NamedTuple):
    """Hops from the outermost to the host itself; see `runbook.ssh.connect` for the rest."""

    hops: tuple[Hop, ...]
    accept_new: bool
    ask: Callable[[str], str] | None
    timeout_s: float

    @property
    def host(self) -> Hop:
        return self.hops[-1]

    def connect(self) -> tuple[Login, contextlib.ExitStack]:
        """The login to the host, and what closes it and every hop before; raises UnreachableError."""
        found: Login | None = None
        with contextlib.ExitStack() as stack:
            for hop in self.hops:
                through = found.transport if found else None
                found = login(
                    hop, through, stack, accept_new=self.accept_new, ask=self.ask, timeout_s=self.timeout_s
                )
            assert found is not None
            return found, stack.pop_all()
