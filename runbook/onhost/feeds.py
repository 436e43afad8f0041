"""What else gives a unit its environment: unit files, environment files, files its script sources, the manager's own."""

from __future__ import annotations

import base64
import glob
import os
import re

from runbook.onhost import command, files, listing
from runbook.onhost.calls import Refusal
from runbook.onhost.masking import mask_file
from runbook.onhost.scope import systemctl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from runbook.onhost.environ import Selection

LIMIT_BYTES = 256 * 1024
LIMIT_FILES = 64
# No shell is parsed here: what looks like sourcing an absolute path is read, and the controller decides what it means.
_SOURCED = re.compile(
    rb"""(?:^|[\s;&|({])(?:source|\.)[ \t]+(["']?)(/[^\s;&|"'$`<>(){}*?\[]+)\1""", re.MULTILINE
)
_WILD = re.compile(r"[*?\[]")


def of_units(
    units: Mapping[str, Mapping[str, str]], looks: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """A look at every file that feeds the units and is not among `looks` yet; secrets in them are masked."""
    found: dict[str, dict[str, Any]] = {}
    waiting = [*_sourced_by(looks.values()), *(path for shown in units.values() for path in named(shown))]
    while waiting and len(found) < LIMIT_FILES:
        path = waiting.pop(0)
        if path in found or path in looks:
            continue
        found[path] = _look(path)
        if not path.endswith((".service", ".conf")):
            waiting.extend(_sourced_by([found[path]]))
    return found


def named(properties: Mapping[str, str]) -> Iterator[str]:
    """The files systemd's own properties of a unit name, in the order they count."""
    listed = (properties.get("FragmentPath", ""), *listing.paths(properties.get("DropInPaths", "")))
    yield from filter(os.path.isabs, listed)
    for line in properties.get("EnvironmentFiles", "").splitlines():
        path = line.partition(" (ignore_errors=")[0]
        yield from _matching(path) if _WILD.search(path) else filter(os.path.isabs, (path,))


def _matching(pattern: str) -> Iterator[str]:
    """What is there of a pattern's names; the pattern itself where a directory is closed to us: then that is not known."""
    yield from sorted(glob.glob(pattern)) or filter(_is_closed, (pattern,))


def _is_closed(pattern: str) -> bool:
    try:
        os.scandir(os.path.dirname(pattern)).close()
    except OSError as error:
        return isinstance(error, PermissionError)
    return False


def _sourced_by(looks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for look in looks:
        for match in _SOURCED.finditer(base64.b64decode(look["b64"] or "")):
            path = os.fsdecode(match[2])
            if os.path.normpath(path) == path:
                yield path


def _look(path: str) -> dict[str, Any]:
    """One file, small or not at all; its bytes with secrets masked, so they are not what a digest would be of."""
    found = files.look(path, LIMIT_BYTES)
    if found["b64"] is not None:
        text = mask_file(base64.b64decode(found["b64"]).decode("utf-8", "surrogateescape"))
        found["b64"] = base64.b64encode(text.encode("utf-8", "surrogateescape")).decode("ascii")
    return found


def ask_manager(scope: str) -> command.Running:
    """Ask systemd's manager for the environment it hands to every unit."""
    return command.Running(systemctl(scope, "show-environment", "--no-pager"))


def manager(asked: command.Running, leaves: Selection) -> dict[str, Any]:
    """The manager's answer, as far as it may leave the host."""
    try:
        text = asked.text()
    except Refusal as refusal:
        return {"environ": {}, "error": refusal.message}
    lines = (line.partition("=") for line in text.splitlines())
    return {"environ": leaves.of({name: _unquoted(value) for name, _, value in lines}), "error": None}


def _unquoted(value: str) -> str:
    """`systemctl show-environment` quotes for a shell, as `$'…'`, what is no plain word."""
    if value.startswith("$'") and value.endswith("'") and len(value) > 2:
        return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), value[2:-1])
    return value
