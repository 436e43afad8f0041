"""SSH: log in with strict host keys, start the helper, speak to it, and forward ports.

Importing this costs nothing; paramiko and Fabric are loaded by the first `connect`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.ssh.wire import Mode, Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.model import SshTarget
    from runbook.ssh.inprocess import InProcessWire
    from runbook.ssh.link import Link

__all__ = ["InProcessWire", "Mode", "Wire", "connect"]


def connect(
    target: SshTarget,
    *,
    accept_new: bool = False,
    ask: Callable[[str], str] | None = None,
    timeout_s: float = 10.0,
) -> Link:
    """Log in to a host, through its jump hosts, every host key checked.

    `accept_new` stores the key of a host never seen before; `ask` reads a secret from a person, None when there is
    nobody. Raises UnreachableError: no route, no login, or a host key that is unknown, changed or revoked.
    """
    from runbook.ssh import link

    return link.connect(target, accept_new=accept_new, ask=ask, timeout_s=timeout_s)


def __getattr__(name: str) -> Any:
    """InProcessWire is loaded when asked for: it brings the helper's own modules along."""
    if name != "InProcessWire":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from runbook.ssh.inprocess import InProcessWire

    return InProcessWire
