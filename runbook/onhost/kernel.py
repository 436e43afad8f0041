"""Two wishes to the Linux kernel: orphans below us come to us, and we do not outlive our parent."""

from __future__ import annotations

import os
import sys

_SET_PDEATHSIG = 1  # prctl(2)
_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> bool:
    """Become the parent of every orphan below us; False where the system cannot."""
    return _prctl(_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int, number: int) -> None:
    """Get a signal when the parent ends, also when it ended before we asked."""
    if _prctl(_SET_PDEATHSIG, number) and os.getppid() != parent:
        os.kill(os.getpid(), number)


def _prctl(option: int, value: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        import ctypes
    except ImportError:  # a Python built without libffi
        return False
    return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
