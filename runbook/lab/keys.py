"""The lab's own SSH keys: the host's, the one client key it lets in, and the known_hosts file that goes with them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import asyncssh

if TYPE_CHECKING:
    from pathlib import Path


def ensure_keys(directory: Path, port: int) -> None:
    """Make what is missing or damaged; every file 0600. Existing keys stay, whatever the port."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    host = _ensure(directory / "host_ed25519", "lab host key")
    _ensure(directory / "client_ed25519", "lab client key")
    line = host.export_public_key("openssh").decode().strip()
    _write(directory / "known_hosts", f"[127.0.0.1]:{port} {line}\n".encode())


def _ensure(path: Path, comment: str) -> asyncssh.SSHKey:
    try:
        key = asyncssh.read_private_key(path)
    except (FileNotFoundError, asyncssh.KeyImportError):
        key = asyncssh.generate_private_key("ssh-ed25519", comment)
        _write(path, key.export_private_key())
    _write(path.with_name(f"{path.name}.pub"), key.export_public_key())
    return key


def _write(path: Path, content: bytes) -> None:
    fresh = path.with_name(f"{path.name}.new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(content)
    fresh.replace(path)
