"""Boots the host and holds it until SIGTERM: `python -m tests.system.real.keeper DIRECTORY TREE`, detached.

Its one word on stdout is `ready`, else what was in the way. The run's reaper takes everything away when it ends, even by kill -9.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from runbook.errors import PreflightError, RunbookError
from tests.system.boot import base, owner
from tests.system.boot.commands import ProgramFailed
from tests.system.hosts import fleet
from tests.system.real import hostfile, hostkey, standing, workers

if TYPE_CHECKING:
    from types import FrameType

    from tests.system.real.standing import Kept

READY = "ready"
_PROJECT = Path(__file__).parents[3]


def start(directory: Path, tree: Path, kept: Kept) -> None:
    """Start the keeper and wait for its word. Raises PreflightError with what it said instead, and then nothing is left of it."""
    command = [sys.executable, "-m", "tests.system.real.keeper", str(directory), str(tree)]
    with kept.log.open("wb") as log:
        keeper = subprocess.Popen(
            command, cwd=_PROJECT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True
        )  # fmt: skip
    assert keeper.stdout is not None
    try:
        said = keeper.stdout.read().decode("utf-8", "replace").strip()
    except BaseException:  # Ctrl-C: what has begun to boot does not stay
        keeper.terminate()
        keeper.wait()
        raise
    if said != READY:
        keeper.wait()
        raise PreflightError(f"the real host did not come up: {said or f'see {kept.log}'}")


def main(directory: Path, tree: Path) -> int:
    """Hold the host; returns the exit status when told to end, or when it did not come up."""
    signal.signal(signal.SIGTERM, _leave)
    starter = _starter()
    kept = standing.Kept(directory / ".lab" / "real")
    file = hostfile.path(directory)
    try:
        _hold(kept, file, tree, starter)
    except (RunbookError, ProgramFailed, OSError, RuntimeError) as error:
        sys.stderr.write(f"{error}\n")
        with contextlib.suppress(ValueError):  # it was ready once, and nobody listens any more
            starter.write(str(error))
        return 1
    finally:
        hostfile.remove(file)
        kept.forget()


def _hold(kept: Kept, file: Path, tree: Path, starter: TextIO) -> NoReturn:
    with fleet(base.cache(), tree) as ours:
        (host,) = ours.boot([hostfile.NAME], workers.binds(), hostkey.kept(base.cache()))
        workers.lay(host)
        hostfile.write(file, host)
        kept.save(standing.of(host, ours.place, owner.me(), file))
        with starter:
            starter.write(READY)
        while True:
            signal.pause()


def _starter() -> TextIO:
    """Our stdout to ourselves alone: what we start must not hold it open, for its end is the sign."""
    alone = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(alone, "w")


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
