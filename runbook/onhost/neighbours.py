"""What of the host has almost the name of a unit or file that is not there: it was probably meant."""

from __future__ import annotations

import itertools
import os

from runbook.onhost import command
from runbook.onhost.calls import Refusal
from runbook.onhost.scope import systemctl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

LIMIT_NAMES = 4096
_MOST = 3
_ALIKE = 0.6


def of(
    shown: Mapping[str, Mapping[str, str]], looks: Mapping[str, Mapping[str, Any]], scope: str
) -> dict[str, list[str]]:
    """By unit or path that is not there, at most three names of its kind that are; nothing is asked where all are there."""
    units = [unit for unit, properties in shown.items() if properties.get("LoadState") == "not-found"]
    gone = [path for path, look in looks.items() if look["exists"] is False]
    return {**(_units(units, scope) if units else {}), **{path: near(path, _siblings(path)) for path in gone}}


def near(name: str, names: Iterable[str]) -> list[str]:
    """Those of the names that are almost this one, the nearest first. What all have in common, the directory and the ending,
    does not count."""
    import difflib  # most looks miss nothing

    kind = os.path.splitext(name)[1]
    stems = {_stem(each): each for each in names if each != name and each.endswith(kind)}
    found = difflib.get_close_matches(_stem(name), list(stems), n=_MOST, cutoff=_ALIKE)
    return [stems[stem] for stem in found]


def _stem(name: str) -> str:
    return os.path.splitext(os.path.basename(name))[0]


def _units(missing: list[str], scope: str) -> dict[str, list[str]]:
    try:
        text = command.run(systemctl(scope, "list-unit-files", "--full", "--no-legend", "--no-pager"))
    except Refusal:  # it only was to help
        return {}
    words = (line.split() for line in text.splitlines())
    names = [line[0] for line in itertools.islice(filter(None, words), LIMIT_NAMES)]
    return {unit: near(unit, names) for unit in missing}


def _siblings(path: str) -> list[str]:
    return list(itertools.islice(_files_in(os.path.dirname(path)), LIMIT_NAMES))


def _files_in(directory: str) -> Iterator[str]:
    try:
        with os.scandir(directory) as entries:
            yield from (entry.path for entry in entries if entry.is_file())
    except OSError:
        return
