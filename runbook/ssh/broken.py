"""What paramiko raises when the connection under it is gone."""

from __future__ import annotations

import contextlib

from runbook import lean

# Asked only for paramiko's own version; with `email` it is a seventh of the import.
with lean.without("importlib.metadata", version=lean.version):
    import paramiko

# A dead socket is an EOFError to whoever writes, a closed channel an OSError, a rekeying that never ends the third.
BROKEN = (OSError, EOFError, paramiko.SSHException)


def close(channel: paramiko.Channel) -> None:
    """Close a channel; on a dead connection there is nothing left to close."""
    with contextlib.suppress(*BROKEN):
        channel.close()
