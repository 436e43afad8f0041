"""Service directories beside ours that keep releases of the same units: another host file of this machine made them."""

from __future__ import annotations

import itertools
import os
import re

from runbook.onhost import inflight, origin, releases
from runbook.onhost import state as directory
from runbook.onhost.calls import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any, Optional

LIMIT = 64  # directories that are looked into
_ENTRIES = 1024  # names of a directory that are read
_MANIFEST_BYTES = 8 << 20
_NAME = re.compile(r"[A-Za-z0-9](?:[._-]?[A-Za-z0-9])*")  # of a service, as a host file may give it
_USUAL = "/var/lib/runbook"
_USERS = "~/.local/state/runbook"


def services(
    state: str, units: Collection[str], files: Collection[str], scope: str = "system"
) -> list[dict[str, Any]]:
    """Those of the usual places and of where `state` lies, the youngest release first: `state`, the `units` in common,
    `current`, `created`, `lock` (its holder or None), `interrupted`. What cannot be read, or is not ours, is passed over.

    Elsewhere than beside `state` they have a file in common, too: a lab's units may be called like the machine's.
    """
    found = [
        one
        for path in itertools.islice(_candidates(state, scope), LIMIT)
        if (one := _service(path, units, None if _are_neighbours(path, state) else files)) is not None
    ]
    return sorted(found, key=lambda one: one["created"], reverse=True)


def _are_neighbours(path: str, state: str) -> bool:
    return os.path.dirname(path) == os.path.dirname(state)


def _candidates(state: str, scope: str) -> Iterator[str]:
    users = (os.path.expanduser(_USERS),) if scope == "user" else ()
    for root in dict.fromkeys((os.path.dirname(state), _USUAL, *users)):
        yield from (path for path in _directories(root) if path != state)


def _directories(root: str) -> list[str]:
    """What lies in a directory and may be a service's, by name."""
    try:
        with os.scandir(root) as entries:
            names = [entry.name for entry in itertools.islice(entries, _ENTRIES)]
    except OSError:
        return []
    paths = (os.path.join(root, name) for name in sorted(names) if _NAME.fullmatch(name))
    return [path for path in paths if os.path.lexists(os.path.join(path, "lock"))]


def _service(path: str, units: Collection[str], files: Optional[Collection[str]]) -> Optional[dict[str, Any]]:
    try:
        directory.check(path)
        (left, held), manifest = inflight.under_way(path), _current(path)
    except (OSError, Refusal):
        return None
    known = {*_named(manifest.get("units")), *_named((held or {}).get("units"))}
    shared = sorted(known.intersection(units))
    if not shared or not (files is None or _paths(manifest).intersection(files)):
        return None
    return {
        "state": path,
        "units": shared,
        "current": manifest.get("id"),
        "created": str(manifest.get("created") or ""),
        "lock": held,
        "interrupted": left is not None and held is None,
    }


def _current(path: str) -> dict[str, Any]:
    """The manifest of a service's current release; empty where there is none, or where another machine made it."""
    release = releases.current(path)
    manifest = os.path.join(path, "releases", release or "", "manifest.json")
    if release is None or not os.path.isfile(manifest) or os.path.getsize(manifest) > _MANIFEST_BYTES:
        return {}
    found = directory.read_json(manifest)
    return found if isinstance(found, dict) and not origin.elsewhere(found) else {}


def _named(found: Any) -> set[str]:
    """Names of units, as a manifest has them (a table) or a lock's holder (a list)."""
    return {name for name in found if isinstance(name, str)} if isinstance(found, (dict, list)) else set()


def _paths(manifest: dict[str, Any]) -> set[str]:
    records = manifest.get("files")
    rows = records if isinstance(records, list) else []
    return {row["path"] for row in rows if isinstance(row, dict) and isinstance(row.get("path"), str)}
