"""Where the control socket is: in a short directory of its own, which a file in the lab's root names.

A socket's path holds 108 bytes, 104 on macOS; the lab's root may be longer than that.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.lab.state import Paths

_SHORT = Path("/tmp")
_PREFIX = "lab-"


@contextlib.contextmanager
def socket_address(paths: Paths) -> Iterator[Path]:
    """A path for the socket, mode 0700 above it, for as long as the daemon lives."""
    forget(paths)
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_SHORT))
    try:
        paths.control.write_bytes(os.fsencode(directory / "control"))
        yield directory / "control"
    finally:
        forget(paths)
        shutil.rmtree(directory, ignore_errors=True)  # the lab's root may be gone by now


def forget(paths: Paths) -> None:
    """Remove the directory that the lab's file names, and the file; also after a daemon that was killed."""
    with contextlib.suppress(OSError):
        directory = Path(os.fsdecode(paths.control.read_bytes())).parent
        paths.control.unlink()
        if directory.parent == _SHORT and directory.name.startswith(_PREFIX):
            shutil.rmtree(directory, ignore_errors=True)
