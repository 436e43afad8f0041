"""One login: Fabric's connection with our host keys, our keys and the user's agent, and no delay on its socket."""

from __future__ import annotations

import logging
import socket
from typing import TYPE_CHECKING, Any, NamedTuple

import fabric
import paramiko

from runbook.errors import UnreachableError
from runbook.ssh import proxy
from runbook.ssh.broken import BROKEN
from runbook.ssh.hostkeys import HostKeys
from runbook.ssh.identities import Identities

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable

    from runbook.ssh.hops import Hop

KEEPALIVE_S = 15


class Login(NamedTuple):
    """A logged-in hop, and the fingerprint of the key that let us in."""

    transport: paramiko.Transport
    fingerprint: str


# How paramiko says that no line `SSH-2.0-…` came, or no key exchange after it.
_NO_SSH = ("Error reading SSH protocol banner", "Indecipherable protocol version", "No existing session")
_LOGIN_S = 60.0  # a key on a token wants a touch; an agent may ask its user


def login(
    hop: Hop,
    through: paramiko.Transport | None,
    stack: contextlib.ExitStack,
    *,
    accept_new: bool,
    ask: Callable[[str], str] | None,
    timeout_s: float,
) -> Login:
    """The login to a hop, by way of the one before it if there is one; `stack` closes it.

    Raises UnreachableError: no route, no answer, host key or login refused.
    """
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # it prints what it also raises
    keys = HostKeys(hop, accept_new=accept_new)
    identities = Identities(hop, ask)
    connection = _connection(hop, keys, identities, timeout_s)
    try:
        connection.connect_kwargs["sock"] = _socket(hop, through, stack, timeout_s)
        stack.callback(connection.client.close)
        with identities:
            connection.open()
    except paramiko.AuthenticationException as error:
        raise UnreachableError(identities.refusal(error)) from None
    except (*BROKEN, UnicodeError) as error:
        raise UnreachableError(f"{hop.label}: {_reason(error)}") from error
    transport: paramiko.Transport = connection.transport
    transport.set_keepalive(KEEPALIVE_S)
    return Login(transport, identities.fingerprint)


def _connection(hop: Hop, keys: HostKeys, identities: Identities, timeout_s: float) -> Any:
    # Lazy, with a configuration object of our own: nothing of ~/.fabric.* or ssh_config is read a second time.
    config = fabric.Config(ssh_config=paramiko.SSHConfig(), lazy=True)
    connection = fabric.Connection(
        host=hop.host,
        user=hop.user,
        port=hop.port,
        config=config,
        connect_timeout=timeout_s,
        connect_kwargs={
            "auth_strategy": identities,
            "transport_factory": _transport_factory(keys),
            "banner_timeout": timeout_s,
            "auth_timeout": _LOGIN_S,
            "channel_timeout": timeout_s,
        },
    )
    connection.client.set_missing_host_key_policy(keys)
    return connection


def _transport_factory(keys: HostKeys) -> Callable[..., paramiko.Transport]:
    def make(sock: Any, **options: Any) -> paramiko.Transport:
        if isinstance(sock, socket.socket) and sock.family != socket.AF_UNIX:
            # Paramiko leaves Nagle on, which costs every small request of ours 40 to 90 ms.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport = paramiko.Transport(sock, **options)
        keys.prefer(transport)
        return transport

    return make


def _socket(
    hop: Hop, through: paramiko.Transport | None, stack: contextlib.ExitStack, timeout_s: float
) -> paramiko.Channel | socket.socket | None:
    """What the login runs over: a channel of the jump host, a proxy command, or None for a socket of its own."""
    if through is not None:
        return through.open_channel("direct-tcpip", (hop.host, hop.port), ("", 0), timeout=timeout_s)
    if hop.proxy_command is not None:
        return stack.enter_context(proxy.command(hop.proxy_command))
    return None


def _reason(error: BaseException) -> str:
    """What went wrong on the way, in words."""
    if isinstance(error, socket.gaierror | UnicodeError):
        return f"no address of that name ({getattr(error, 'strerror', None) or error})"
    if isinstance(error, paramiko.ssh_exception.NoValidConnectionsError):
        return "; ".join(
            dict.fromkeys(str(getattr(one, "strerror", None) or one) for one in error.errors.values())
        )
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, EOFError) or "Connection reset by peer" in str(error):
        return "the connection was closed before SSH had begun"
    if str(error).startswith(_NO_SSH):
        return "what listens there speaks no SSH, or not in time"
    if isinstance(error, paramiko.ChannelException):
        return f"the jump host cannot reach it ({error.text})"
    return str(error) or type(error).__name__
