"""A link: the logged-in connection to one host, its jump hosts under it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from runbook.ssh.hops import hops
from runbook.ssh.login import login
from runbook.ssh.remote import RemoteWire
from runbook.ssh.start import Start
from runbook.ssh.tcp import TcpStream, open_stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    import paramiko

    from runbook.model import SshTarget
    from runbook.ssh.hops import Hop
    from runbook.ssh.wire import Mode

_START_S = 30.0  # from the login shell to Python's greeting; network homes and slow rc files take their time


class Link:
    """Wires and streams to one host. Closing it closes everything that runs over it, jump hosts last."""

    def __init__(
        self, hop: Hop, connections: contextlib.ExitStack, transport: paramiko.Transport, ask: Any
    ) -> None:
        self.label = hop.label
        self._hop = hop
        self._connections = connections
        self._transport = transport
        self._ask = ask

    def open_wire(
        self, mode: Mode, *, payload: bytes, state: str, python: str = "python3", become: bool = False
    ) -> RemoteWire:
        """Start the helper in a mode; `state` is the state directory whose lock a writing wire may take.

        Raises PreflightError (no Python that will do, a state directory that is not ours alone), UnreachableError
        (login shell or sudo refuses), LinkLostError.
        """
        start = Start(self._hop, self._transport, python, payload, _START_S, self._ask)
        wire = RemoteWire(start.run(mode, state, become=become), mode, self.label)
        try:
            wire.hello(_START_S)
        except BaseException:
            wire.close()
            raise
        self._connections.callback(wire.close)
        return wire

    def open_tcp(self, port: int, timeout_s: float, *, host: str = "127.0.0.1") -> TcpStream:
        """A TCP stream to a port as the host reaches it; raises TunnelError, LinkLostError."""
        return open_stream(self._transport, host, port, timeout_s)

    def close(self) -> None:
        self._connections.close()

    def __enter__(self) -> Link:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect(
    target: SshTarget,
    *,
    accept_new: bool = False,
    ask: Callable[[str], str] | None = None,
    timeout_s: float = 10.0,
) -> Link:
    """Log in hop by hop; see `runbook.ssh.connect`."""
    through: paramiko.Transport | None = None
    with contextlib.ExitStack() as stack:
        way = hops(target)
        for hop in way:
            through = login(hop, through, stack, accept_new=accept_new, ask=ask, timeout_s=timeout_s)
        assert through is not None
        return Link(way[-1], stack.pop_all(), through, ask)
