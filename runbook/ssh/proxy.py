"""A ProxyCommand as a socket: the command talks to its end of a pair, we to ours, and it ends with us.

Paramiko's own never notices the command's end and leaves the process behind.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_END_S = 2.0


@contextlib.contextmanager
def command(text: str) -> Iterator[socket.socket]:
    """The connection a shell command makes, as ssh_config(5) describes ProxyCommand; it is the user's own text."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            # It may ask at the terminal, so it stays on it; but the Ctrl-C that asks us to stop must not cut our link.
            argv = ["/bin/sh", "-c", f"trap '' INT; exec {text}"]
            process = subprocess.Popen(
                argv, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL
            )
        try:
            yield ours
        finally:
            ours.close()
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
