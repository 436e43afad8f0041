"""Records of rollouts that could not be appended on their host: kept here until the host's chain has one of that id."""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook.audit.record import Record, records_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SUFFIX = ".owed"
MOST = 50
_ID = re.compile(r"[\w-]{1,64}")  # becomes part of a file's name, and a host may have said it


@dataclass(frozen=True, slots=True)
class Owed:
    """The records owed to one host, by its name, in the directory of its mirror."""

    directory: Path
    host: str

    def keep(self, record: Mapping[str, Any]) -> None:
        """Keep a record without its place in the chain, and the youngest MOST of a host that takes none. Raises OSError."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(str(record["id"]))
        fresh = path.with_name(f"{path.name}.new")
        with open(fresh, "w", encoding="ascii", opener=_private) as file:
            json.dump(dict(record), file)
        fresh.replace(path)
        for oldest in _paths(self.directory, self.host)[:-MOST]:
            oldest.unlink(missing_ok=True)

    def of(self, rollout: str) -> Mapping[str, Any] | None:
        """What is owed of a rollout; None where that is nothing that can be read."""
        found = _read(self._path(rollout)) if _ID.fullmatch(rollout) else None
        return None if found is None else found.document

    def settle(self, chain: bytes) -> None:
        """Keep none any longer that the host's chain has by now."""
        paths = _paths(self.directory, self.host)
        known = {record.id for record in records_of(chain)} if paths else set()
        for path in paths:
            if path.name.removesuffix(SUFFIX).rpartition(".")[2] in known:
                with contextlib.suppress(OSError):  # it is shown once too often, and settled the next time
                    path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Keep none any longer: the host's chain begins anew."""
        for path in _paths(self.directory, self.host):
            path.unlink(missing_ok=True)

    def _path(self, rollout: str) -> Path:
        return self.directory / f"{self.host}.{rollout}{SUFFIX}"


def records(directory: Path, hosts: Sequence[str] = ()) -> tuple[Record, ...]:
    """What is owed, of these hosts alone where any are named."""
    paths = [path for host in hosts or ("*",) for path in _paths(directory, host)]
    found = (_read(path) for path in paths)
    return tuple(record for record in found if record is not None and (not hosts or record.host in hosts))


def _paths(directory: Path, host: str) -> list[Path]:
    """The files of one host, or of all (`*`); a host's name may have dots, the id of a rollout has none."""
    found = sorted(directory.glob(f"{host}.*{SUFFIX}"))
    return [path for path in found if host in ("*", path.name.removesuffix(SUFFIX).rpartition(".")[0])]


def _read(path: Path) -> Record | None:
    try:
        line = path.read_bytes()
        found = json.loads(line)
    except (OSError, ValueError, RecursionError):
        return None
    return (
        Record({**found, **dict.fromkeys(("seq", "prev", "hash"))}, line) if isinstance(found, dict) else None
    )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
