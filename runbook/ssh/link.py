"""A link: the logged-in connection to one host, its jump hosts under it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.ssh.hops import hops
from runbook.ssh.reading import ReadingWire
from runbook.ssh.remote import RemoteWire
from runbook.ssh.route import Route
from runbook.ssh.start import Start
from runbook.ssh.tcp import TcpStream, open_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    import paramiko

    from runbook.model import SshTarget
    from runbook.ssh.boot import Payload
    from runbook.ssh.row import Asked
    from runbook.ssh.wire import Mode, OpenWire

_START_S = 30.0  # from the login shell to Python's greeting; network homes and slow rc files take their time


class Link:
    """Wires and streams to one host. Closing it closes everything that runs over it, jump hosts last."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self._login, self._connections = route.connect()

    @property
    def transport(self) -> paramiko.Transport:
        return self._login.transport

    @property
    def fingerprint(self) -> str:
        """Of the key that let us in to the host itself."""
        return self._login.fingerprint

    @property
    def label(self) -> str:
        """The host as messages name it."""
        return self.route.host.label

    def open_wire(
        self,
        mode: Mode,
        *,
        payload: Payload,
        state: str,
        python: str = "python3",
        become: bool = False,
        scope: str = "system",
        ahead: Sequence[Asked] = (),
    ) -> OpenWire:
        """Start the helper in a mode; `state` is the state directory whose lock a writing wire may take, `scope` whose
        units it works on: the machine's (`system`) or the login user's (`user`). `ahead` are the calls that will come first,
        if they are known: they are asked with the start.

        Raises PreflightError (no Python that will do, a state directory that is not ours alone), UnreachableError
        (login shell or sudo refuses), LinkLostError. A reading wire logs in once more by itself when the link is lost.
        """

        def start(ahead: Sequence[Asked] = ()) -> RemoteWire:
            return self._start(mode, payload, state, python, become, scope, ahead)

        if mode != "reading":
            return start(ahead)

        def renew() -> RemoteWire:
            self._reconnect()
            return start()

        return ReadingWire(start(ahead), renew)

    def _start(
        self,
        mode: Mode,
        payload: Payload,
        state: str,
        python: str,
        become: bool,
        scope: str,
        ahead: Sequence[Asked],
    ) -> RemoteWire:
        beginning = Start(self.route.host, self.transport, python, payload, _START_S, self.route.ask)
        wire = RemoteWire(beginning.run(mode, state, become=become, scope=scope), mode, self.label)
        self._connections.callback(wire.close)
        wire.ask_ahead(*ahead)
        wire.hello(_START_S)
        return wire

    def _reconnect(self) -> None:
        self._connections.close()
        self._login, self._connections = self.route.connect()

    def open_tcp(self, port: int, timeout_s: float, *, host: str = "127.0.0.1") -> TcpStream:
        """A TCP stream to a port as the host reaches it; raises TunnelError, LinkLostError."""
        return open_stream(self.transport, host, port, timeout_s)

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
    return Link(Route(hops(target), accept_new, ask, timeout_s))
