"""The lab's SSH server: one user, one key, exec and forwarding to loopback; everything else is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import asyncssh

if TYPE_CHECKING:
    from pathlib import Path

    from runbook.lab.session import Sessions

_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True, slots=True)
class Access:
    """Who gets in, and with which keys."""

    user: str
    keys: Path


class SshServer:
    """Listens until it is closed; then every connection is closed too."""

    def __init__(self) -> None:
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._connections: set[asyncssh.SSHServerConnection] = set()

    async def listen(self, port: int, access: Access, sessions: Sessions) -> None:
        """Serve on 127.0.0.1; OSError when the port is taken."""
        client = asyncssh.read_public_key(access.keys / "client_ed25519.pub")
        self._acceptor = await asyncssh.create_server(
            lambda: _Door(access.user, client, self._connections),
            "127.0.0.1",
            port,
            server_host_keys=[str(access.keys / "host_ed25519")],
            process_factory=sessions.run,
            encoding=None,
            line_editor=False,
            allow_pty=False,
            agent_forwarding=False,
            x11_forwarding=False,
            gss_host=None,  # its default looks the machine's name up in DNS
        )

    async def close(self) -> None:
        """Stop listening and hang up: what runs in sessions sees the end of its input."""
        if self._acceptor:
            self._acceptor.close()
        for connection in tuple(self._connections):
            connection.close()
            await connection.wait_closed()


class _Door(asyncssh.SSHServer):
    """One connection: lets one user in with one key."""

    def __init__(
        self, user: str, key: asyncssh.SSHKey, connections: set[asyncssh.SSHServerConnection]
    ) -> None:
        self._user = user
        self._key = key
        self._connections = connections
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._connection:
            self._connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return username == self._user and key == self._key

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        if dest_host not in _LOOPBACK:
            raise asyncssh.ChannelOpenError(
                asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, "the lab forwards to loopback only"
            )
        return True
