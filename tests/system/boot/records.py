"""What a run of tests makes on this machine, written down before it is made, so that anybody can take it away again."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.system.boot import cgroups
from tests.system.boot.commands import attempt

if TYPE_CHECKING:
    from collections.abc import Iterator

_OWNER, _LOG = "owner.json", "console.log"


@dataclass(frozen=True, slots=True)
class Record:
    """One machine by the names the kernel knows it by. `directory` holds its memory-backed file system."""

    name: str
    address: str
    directory: str
    netns: str
    veth: str
    cgroup: str

    @property
    def root(self) -> Path:
        return Path(self.directory) / "root"

    @property
    def console(self) -> Path:
        return Path(f"{self.directory}.log")


@dataclass(frozen=True, slots=True)
class Place:
    """A run's directory and its number, which makes its device names and addresses its own.

    Addresses are of 198.18.0.0/15, which is set aside for tests between machines (RFC 2544).
    """

    directory: Path
    slot: int

    @property
    def owner(self) -> Path:
        return self.directory / _OWNER

    @property
    def bridge(self) -> str:
        return f"rbsys{self.slot}"

    @property
    def gateway(self) -> str:
        return f"198.18.{self.slot}.1"

    def record(self, index: int, name: str) -> Record:
        """The names of the machine of that index."""
        mark = f"{self.bridge}-{index}"
        directory = str(self.directory / name)
        return Record(name, f"198.18.{self.slot}.{10 + index}", directory, mark, mark, f"runbook-{mark}")

    def write(self, record: Record) -> None:
        (self.directory / f"{record.name}.machine").write_text(json.dumps(asdict(record)))

    def records(self) -> Iterator[Record]:
        """Every machine written down, however far it came."""
        for path in sorted(self.directory.glob("*.machine")):
            with contextlib.suppress(ValueError, TypeError):
                yield Record(**json.loads(path.read_text()))


def take_away(place: Place) -> None:
    """End and remove everything the run wrote down, then its directory. What is gone already is fine."""
    for record in place.records():
        cgroups.kill(record.cgroup)
        cgroups.remove(record.cgroup)
        attempt(["umount", "--lazy", str(record.root)])
        attempt(["umount", "--lazy", record.directory])
        attempt(["ip", "netns", "delete", record.netns])
        attempt(["ip", "link", "delete", record.veth])
        _remove_empty(Path(record.directory))
    attempt(["ip", "link", "delete", place.bridge])
    # Files first, the owner last: a run that cannot be taken away whole is tried again by the next.
    for path in sorted(place.directory.iterdir(), key=lambda path: path.name == _OWNER):
        if path.is_file():
            path.unlink()
    place.directory.rmdir()


def _remove_empty(mount_point: Path) -> None:
    """Never recursive: a mount that would not go must not lose its contents."""
    with contextlib.suppress(FileNotFoundError):
        mount_point.rmdir()
