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


class _Server(asyncssh.SSHServer):
    def __init__(self, user: str, key: asyncssh.SSHKey) -> None:
        self._user = user
        self._key = key

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


async def listen(port: int, access: Access, sessions: Sessions) -> asyncssh.SSHAcceptor:
    """Serve on 127.0.0.1; OSError when the port is taken."""
    client = asyncssh.read_public_key(access.keys / "client_ed25519.pub")
    return await asyncssh.create_server(
        lambda: _Server(access.user, client),
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
