"""Whose a run is: a process by pid, start tick and boot, so that a pid that came round again is nobody's."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Owner:
    """One very process of this boot of the machine."""

    pid: int
    start_ticks: int
    boot_id: str

    @property
    def alive(self) -> bool:
        return find(self.pid) == self


def me() -> Owner:
    """This process."""
    found = find(os.getpid())
    assert found is not None
    return found


def find(pid: int) -> Owner | None:
    """The process of that pid, None where there is none or only its corpse."""
    try:
        _, _, rest = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")
    except OSError:
        return None
    fields = rest.split()
    return None if fields[0] in (b"Z", b"X") else Owner(pid, int(fields[19]), _boot_id())


def save(owner: Owner, path: Path) -> None:
    path.write_text(json.dumps(asdict(owner)))


def load(path: Path) -> Owner | None:
    """The owner kept in a file; None where there is no whole one."""
    try:
        return Owner(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
