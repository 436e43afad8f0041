"""What can befall a rollout: each fault strikes while a step begins, and is over once the command has ended."""

from __future__ import annotations

import contextlib
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.system.service import laying

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.system.hosts import TestHost
    from tests.system.operators import Command

HELPER = "import binascii,sys,zlib"  # what the command line of a helper and of its warden holds
_KILL_HELPER = f"""
import glob, os, signal
mine = {{}}
for path in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        pid = int(path.split("/")[2])
        if {HELPER!r} in open(path).read() and pid != os.getpid():
            mine[pid] = int(open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[1])
    except OSError:
        pass
for pid, parent in mine.items():
    if (parent in mine) == WANTED:
        os.kill(pid, signal.SIGKILL)
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """`strikes` is entered while a step is held at its beginning, and left when the command has ended.

    `codes` are the exit codes it may end a command with that it struck in the middle; `slow` ones take a minute.
    """

    name: str
    strikes: Callable[[TestHost, Command], AbstractContextManager[None]]
    codes: frozenset[int]
    slow: bool = False


def _signalled(number: int) -> Callable[[TestHost, Command], AbstractContextManager[None]]:
    @contextlib.contextmanager
    def strike(host: TestHost, command: Command) -> Iterator[None]:
        command.signal(number)
        yield

    return strike


def _on_helper(child: bool) -> Callable[[TestHost, Command], AbstractContextManager[None]]:
    @contextlib.contextmanager
    def strike(host: TestHost, command: Command) -> Iterator[None]:
        host.run(["python3", "-I", "-S", "-c", _KILL_HELPER.replace("WANTED", str(child))])
        yield

    return strike


@contextlib.contextmanager
def _cut(host: TestHost, command: Command) -> Iterator[None]:
    host.cut()
    try:
        yield
    finally:
        host.heal()


@contextlib.contextmanager
def _rebooted(host: TestHost, command: Command) -> Iterator[None]:
    host.reboot()
    yield


@contextlib.contextmanager
def _full(host: TestHost, command: Command) -> Iterator[None]:
    with host.full_disk():
        yield


@contextlib.contextmanager
def _read_only(host: TestHost, command: Command) -> Iterator[None]:
    host.sh(f"mkdir -p {laying.STATE_HOME}")
    with host.read_only("/root", laying.STATE_HOME):
        yield


_STOPPED = frozenset({130})
_LOST = frozenset({7, 4})
_REFUSED = frozenset({2, 1, 4})
FAULTS = (
    Fault("controller killed", _signalled(signal.SIGKILL), frozenset({-signal.SIGKILL})),
    Fault("SIGINT", _signalled(signal.SIGINT), _STOPPED),
    Fault("SIGTERM", _signalled(signal.SIGTERM), _STOPPED),
    Fault("helper killed", _on_helper(child=True), _LOST),
    Fault("warden killed", _on_helper(child=False), _LOST),
    Fault("host rebooted", _rebooted, _LOST),
    Fault("disk full", _full, _REFUSED),
    Fault("file system read-only", _read_only, _REFUSED),
    Fault("link cut", _cut, _LOST, slow=True),
)
