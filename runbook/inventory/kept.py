"""Hosts that were checked before: the schema costs more than logging in, and a file nobody touched is as right as it was."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook import model, usercache
from runbook.model import Host

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MOST = 64


def path_of(
    name: str, host_file: Path, profiles: Iterable[Path], variables: Mapping[str, Any] | None
) -> Path:
    """Where the Host of these very bytes is kept: host file, profiles, variables, and the code that reads them."""
    digest = hashlib.sha256(
        json.dumps([name, str(host_file), variables], sort_keys=True, default=str).encode()
    )
    for part in _inputs((host_file, *sorted(profiles))):
        digest.update(hashlib.sha256(part).digest())
    return usercache.directory() / "hosts" / f"{digest.hexdigest()}.pickle"


def _inputs(files: Iterable[Path]) -> Iterator[bytes]:
    for path in files:
        yield path.name.encode("utf-8", "surrogateescape")
        yield path.read_bytes()
    yield from usercache.stamps((Path(model.__file__), *sorted(Path(__file__).parent.glob("*.py"))))


def read(path: Path) -> Host | None:
    """The kept Host, None where there is none that can be trusted and read."""
    return usercache.unpickled(path, Host)


def keep(path: Path, host: Host) -> None:
    usercache.keep(path, pickle.dumps(host), most=MOST)
