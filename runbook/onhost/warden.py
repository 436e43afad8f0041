"""The warden: parent of the helper, and of all it started once the helper is gone.

It and the helper alone hold the lock's open file description. However the helper ends, the warden kills every
descendant before it exits itself, and only then is the lock free.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

from runbook.onhost import cgroups, kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, NoReturn

_SWEEP_S = 30.0  # a process in uninterruptible sleep may take its time; beyond this we cannot help it
_PAUSE_S = 0.02


def guard(helper: Callable[[], int], proc: str = "/proc") -> int:
    """Run `helper` in a child, and return its exit code when nothing of it is left alive."""
    kernel.adopt_orphans()
    warden = os.getpid()
    child = os.fork()
    if child == 0:
        _become_helper(helper, warden)
    _watch_over(child)
    code = _await(child)
    sweep(proc)
    return code


def _become_helper(helper: Callable[[], int], warden: int) -> NoReturn:
    code = 70
    try:
        kernel.die_with(warden, signal.SIGTERM)
        code = helper()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        raise
    finally:
        # Whatever happened, the child never runs on into its parent's code.
        os._exit(code)


def _watch_over(child: int) -> None:
    """Let go of the channel, whose end is the helper's to see, and pass on what would end us."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: _kill(child))


def _await(child: int) -> int:
    """Reap until the helper itself has ended; its exit code, 128 + signal where one ended it."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def sweep(proc: str) -> bool:
    """Kill every descendant until none is left; False where some would not die within the bound."""
    deadline = time.monotonic() + _SWEEP_S
    while _reap():
        for pid in cgroups.descendants(os.getpid(), cgroups.table(proc))[1:]:
            _kill(pid)
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_S)
    return True


def _reap() -> bool:
    """Bury the dead; are there children left?"""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return False
    return True


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
