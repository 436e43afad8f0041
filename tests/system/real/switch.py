"""Up, down and status of the real host of one checkout. Only what this checkout started is ever ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from runbook import audit
from runbook.errors import PreflightError
from runbook.lab import extras
from runbook.lab.layout import package_home
from tests.system import requirements
from tests.system.boot import base, owner, runs
from tests.system.boot.commands import ProgramFailed
from tests.system.boot.records import take_away
from tests.system.real import hostfile, keeper
from tests.system.real.standing import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.system.real.standing import Standing

_END_S, _REAP_S, _PAUSE_S = 30.0, 15.0, 0.05


def up(directory: Path, *, reset: bool, say: Callable[[str], None]) -> Standing:
    """The host, booted now unless it stands; `reset` boots it anew in the state before the fix.

    Raises PreflightError where no host can be booted here, UsageError where hosts/real.yml is somebody else's.
    """
    with _alone(directory) as kept:
        standing = kept.load()
        if standing and standing.answers and not reset:
            return standing
        _end(directory, kept)
        hostfile.refuse_foreign(hostfile.path(directory))
        if reason := requirements.obstacle(sys.platform, os.geteuid()):
            raise PreflightError(reason)
        extras.ensure(package_home() / "requirements-lab.lock", say)
        tree = _tree(say)
        try:
            keeper.start(directory, tree, kept)
            audit.forget(audit.directory(directory), hostfile.NAME)  # its chain begins anew with its disk
            standing = kept.load()
        except KeyboardInterrupt:
            _end(directory, kept)
            runs.clear(base.cache())
            raise
        assert standing is not None
        return standing


def down(directory: Path) -> bool:
    """End the host and everything it was made of; False where there was none."""
    if not _kept(directory).root.is_dir():
        return False
    with _alone(directory) as kept:
        return _end(directory, kept)


def status(directory: Path) -> Standing | None:
    """The host that stands; None where there is none that answers."""
    standing = _kept(directory).load()
    return standing if standing and standing.answers else None


def _kept(directory: Path) -> Kept:
    return Kept(directory / ".lab" / "real")


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[Kept]:
    """One caller at a time."""
    kept = _kept(directory)
    kept.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with runs.locked(kept.lock):
        yield kept


def _tree(say: Callable[[str], None]) -> Path:
    source = base.mirror()
    if not base.stands(source, base.cache()):
        say(f"building a Debian {source.suite} to boot hosts from, once: about a minute")
    try:
        return base.built(source, base.cache())
    except ProgramFailed as error:
        raise PreflightError(f"no Debian could be built: {error}") from error


def _end(directory: Path, kept: Kept) -> bool:
    standing = kept.load()
    if standing:
        _end_keeper(standing)
        _take_away(standing)
    hostfile.remove(hostfile.path(directory))
    kept.forget()
    return standing is not None


def _end_keeper(standing: Standing) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if standing.keeper.alive:
            os.kill(standing.keeper.pid, number)
        if _until(lambda: not standing.keeper.alive, _END_S):
            return
    raise PreflightError(f"process {standing.keeper.pid}, which holds the real host, does not end")


def _take_away(standing: Standing) -> None:
    """The keeper's reaper does it; where that was killed as well, we do. A place that is another's by now is left alone."""
    place = standing.place
    if _until(lambda: owner.load(place.owner) != standing.keeper, _REAP_S):
        return
    with runs.locked(place.directory.parent.parent / "runs.lock"):
        if owner.load(place.owner) == standing.keeper:
            take_away(place)


def _until(holds: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE_S)
    return True
