"""The SSH key that every real host of this user's has: made once, so that a known_hosts entry outlives a host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.system.boot.commands import run
from tests.system.boot.runs import locked

if TYPE_CHECKING:
    from pathlib import Path

_NAME = "ssh_host_ed25519_key"


def kept(cache: Path) -> Path:
    """The private key's file, mode 0600, its public half beside it with `.pub`; made where there is none yet."""
    directory = cache / "real"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = directory / _NAME
    with locked(directory / "lock"):
        if not key.exists():
            _make(key)
    return key


def _make(key: Path) -> None:
    """The private half comes last: where it is, both are whole."""
    fresh = key.with_name("fresh")
    for half in (fresh, fresh.with_suffix(".pub")):
        half.unlink(missing_ok=True)
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "runbook", "-f", str(fresh)])
    fresh.with_suffix(".pub").replace(key.with_suffix(".pub"))
    fresh.replace(key)
