"""What systemd gives a unit before its script runs (systemd.exec(5), "Environment"): the later of these wins.

The manager's environment, what `PassEnvironment=` names of systemd's own, `Environment=` of the unit file and its
drop-ins in their order (an empty one drops those before it), then the environment files; at last `UnsetEnvironment=`
takes away.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, NamedTuple

from runbook.edits import dropin, env_file
from runbook.errors import EditRefusedError
from runbook.onhost import listing
from runbook.places.place import Place
from runbook.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runbook.edits.dropin import DropIn
    from runbook.places.place import Kind
    from runbook.places.reading import Files

_WILD = re.compile(r"[*?\[]")


class Given(NamedTuple):
    """The places systemd takes variables from, in rising precedence, and what could not be read."""

    places: tuple[Place, ...]
    unread: tuple[str, ...] = ()


def given(properties: Mapping[str, str], files: Files) -> Given:
    """What the unit of these properties gets from systemd, by its files as they are on disk."""
    handed, unasked = _manager(files)
    own, removed, unread = _unit_files(unit_files(properties), files)
    listed, unread_too = _environment_files(properties, files)
    places = (*handed, *own, *listed)
    last = {place.name: place.value for place in places}
    gone = {name for name, value in last.items() if name in removed or f"{name}={value}" in removed}
    return Given(tuple(place for place in places if place.name not in gone), (*unasked, *unread, *unread_too))


def _manager(files: Files) -> tuple[list[Place], list[str]]:
    """What the manager hands to every unit, or why that is not known."""
    seen = files.seen
    unasked = [f"systemd's manager: {one_line(seen.manager_error)}"] if seen.manager_error else []
    return [Place("manager environment", name, value) for name, value in seen.manager.items()], unasked


def unit_files(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The unit file and its drop-ins, in the order systemd reads them."""
    listed = (properties.get("FragmentPath", ""), *listing.paths(properties.get("DropInPaths", "")))
    return tuple(path for path in listed if path.startswith("/"))


def environment_files(properties: Mapping[str, str], known: Iterable[str]) -> tuple[tuple[str, bool], ...]:
    """The files of `EnvironmentFile=` in order, each with whether it may be missing; globs filled in from `known`."""
    found: list[tuple[str, bool]] = []
    for line in properties.get("EnvironmentFiles", "").splitlines():
        path, _, ignoring = line.partition(" (ignore_errors=")
        paths = sorted(fnmatch.filter(known, path)) if _WILD.search(path) else [path]
        found += [(each, ignoring.startswith("yes")) for each in paths if each]
    return tuple(found)


def _unit_files(paths: Iterable[str], files: Files) -> tuple[list[Place], set[str], list[str]]:
    passed: list[Place] = []
    places: list[Place] = []
    removed: set[str] = set()
    unread: list[str] = []
    for path in paths:
        found = _read_unit_file(path, files)
        if isinstance(found, str):
            unread.append(found)
            continue
        for key, kept in (
            ("Environment", places),
            ("PassEnvironment", passed),
            ("UnsetEnvironment", removed),
        ):
            if key in found.cleared:
                kept.clear()
        kind: Kind = "drop-in" if path.endswith(".conf") else "unit file"
        # of what systemd itself was started with, nobody can tell before a run whether it is set
        passed += [Place(kind, name, None, path, line) for name, line in found.passed.items()]
        places += [Place(kind, a.name, a.value, path, a.line) for a in found.assignments]
        removed |= found.removed.keys()
        unread += [
            f"{path}:{line} sets {name}, and only systemd can tell which name that is"
            for name, line in found.unnamed.items()
        ]
    return [*passed, *places], removed, unread


def _read_unit_file(path: str, files: Files) -> DropIn | str:
    """What a unit file says, or why that is not known."""
    try:
        content = files.content(path)
        return files.why_not(path) if content is None else dropin.read(files.text(content))
    except EditRefusedError as refused:
        return f"{path}: {refused}"


def _environment_files(properties: Mapping[str, str], files: Files) -> tuple[list[Place], list[str]]:
    places: list[Place] = []
    unread: list[str] = []
    for path, may_miss in environment_files(properties, files.known):
        content = files.content(path)
        try:
            entries = () if content is None else env_file.read(files.text(content)).entries
        except EditRefusedError as refused:
            entries, may_miss = (), True
            unread.append(f"{path}: {refused}")
        if content is None and not (may_miss and files.missing(path)):
            unread.append(files.why_not(path))
        places += [Place("environment file", entry.name, entry.value, path, entry.line) for entry in entries]
    return places, unread
