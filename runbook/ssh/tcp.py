"""A TCP stream through the SSH connection to a port as the host sees it."""

from __future__ import annotations

import paramiko

from runbook import errors
from runbook.ssh.broken import BROKEN, close

# RFC 4254 section 5.1: why a channel was not opened.
_PROHIBITED, _CONNECT_FAILED = 1, 2


class TcpStream:
    """Bytes both ways, every wait bounded. All errors are TunnelError, LinkLostError when SSH itself is gone."""

    def __init__(self, channel: paramiko.Channel, place: str) -> None:
        self._channel = channel
        self._place = place

    def read(self, max_bytes: int, timeout_s: float) -> bytes:
        """Some bytes, empty at the other side's end of stream."""
        self._channel.settimeout(max(timeout_s, 0.0))
        try:
            chunk = self._channel.recv(max_bytes)
        except TimeoutError:
            raise errors.TunnelTimeout(f"{self._place} was silent for {timeout_s:.1f} s") from None
        except BROKEN as error:
            raise errors.TunnelCut(f"{self._place} broke off: {error}") from None
        if not chunk and not _active(self._channel):
            # A dead link reads as an end of stream: half an answer must not pass for a whole one.
            raise errors.LinkLostError(f"the SSH connection was lost while {self._place} answered")
        return chunk

    def write(self, content: bytes, timeout_s: float) -> None:
        self._channel.settimeout(max(timeout_s, 0.0))
        try:
            self._channel.sendall(content)
        except TimeoutError:
            raise errors.TunnelTimeout(f"{self._place} took nothing for {timeout_s:.1f} s") from None
        except BROKEN as error:
            raise errors.TunnelCut(f"{self._place} broke off: {error}") from None

    def is_readable(self) -> bool:
        """Would a read return at once?"""
        return bool(self._channel.recv_ready() or self._channel.eof_received or self._channel.closed)

    def close(self) -> None:
        close(self._channel)


def open_stream(transport: paramiko.Transport, host: str, port: int, timeout_s: float) -> TcpStream:
    """A stream to `host:port` as the far end of the SSH connection reaches it."""
    place = f"{host}:{port}"
    try:
        channel = transport.open_channel("direct-tcpip", (host, port), ("127.0.0.1", 0), timeout=timeout_s)
    except paramiko.ChannelException as error:
        raise _refused(error, place) from None
    except BROKEN as error:
        if not transport.is_active():
            raise errors.LinkLostError(f"the SSH connection was lost: {error}") from None
        raise errors.TunnelTimeout(f"{place}: no connection within {timeout_s:.1f} s") from None
    return TcpStream(channel, place)


def _refused(error: paramiko.ChannelException, place: str) -> errors.TunnelError:
    if error.code == _PROHIBITED:
        return errors.TunnelForbidden(f"{place}: the host's sshd forbids forwarding (AllowTcpForwarding)")
    if error.code == _CONNECT_FAILED:
        return errors.TunnelRefused(f"{place}: {error.text or 'connection refused'}")
    return errors.TunnelError(f"{place}: {error.text}")


def _active(channel: paramiko.Channel) -> bool:
    transport = channel.get_transport()
    return transport is not None and transport.is_active()
