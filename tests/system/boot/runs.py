"""Runs of system tests on this machine: each claims a number of its own; what the dead left is taken away first."""

from __future__ import annotations

import contextlib
import fcntl
from typing import TYPE_CHECKING

from tests.system.boot import owner
from tests.system.boot.commands import attempt, run
from tests.system.boot.records import Place, take_away

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SLOTS = range(256)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file for a moment; waits for whoever holds it. Freed by the kernel when its holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def clear(cache: Path) -> None:
    """Take away what the dead left."""
    with locked(cache / "runs.lock"):
        _sweep(cache / "runs")


def claim(cache: Path) -> Place:
    """A place that is ours, its bridge up. Raises RuntimeError when every number is taken."""
    with locked(cache / "runs.lock"):
        _sweep(cache / "runs")
        for slot in _SLOTS:
            place = Place(cache / "runs" / str(slot), slot)
            if not place.directory.exists() and _found(place):
                return place
    raise RuntimeError(f"all {len(_SLOTS)} numbers for runs of system tests are taken")


def _sweep(runs: Path) -> None:
    """Take away every run whose owner is dead."""
    for directory in sorted(runs.iterdir()) if runs.exists() else []:
        place = Place(directory, int(directory.name))
        whose = owner.load(place.owner)
        if whose is None or not whose.alive:
            take_away(place)


def _found(place: Place) -> bool:
    """Make the place; False where its bridge exists already, as another user's may."""
    place.directory.mkdir(parents=True)
    owner.save(owner.me(), place.owner)
    if not attempt(["ip", "link", "add", place.bridge, "type", "bridge"]):
        place.owner.unlink()
        place.directory.rmdir()
        return False
    run(["ip", "address", "add", f"{place.gateway}/24", "dev", place.bridge])
    run(["ip", "link", "set", place.bridge, "up"])
    return True
