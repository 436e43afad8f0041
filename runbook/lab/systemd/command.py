"""What a start of a unit executes: its environment and its command line, as they are at that moment."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from runbook.lab.systemd.unitfile import logical_lines, read_bounded
from runbook.lab.systemd.words import is_assignment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.lab.systemd.unitfile import UnitFile

_SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def parse_environment_file(text: str) -> dict[str, str]:
    """Assignments of an EnvironmentFile; `export A=1` is none (systemd.exec(5)), and is left out."""
    found: dict[str, str] = {}
    for line in logical_lines(text):
        name, _, value = line.partition("=")
        if is_assignment(f"{name}=") and "=" in line:
            found[name] = _unquote(value.strip())
    return found


def _unquote(value: str) -> str:
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value


def environment_of(unit: UnitFile) -> dict[str, str]:
    """Environment= and then every EnvironmentFile=; OSError where a wanted file cannot be read."""
    found = dict(unit.environment)
    for source in unit.environment_files:
        try:
            found |= parse_environment_file(read_bounded(Path(source.path)))
        except OSError:
            if not source.optional:
                raise
    return found


def command_of(unit: UnitFile, environment: Mapping[str, str]) -> tuple[str, ...]:
    """ExecStart with `$NAME` (split into words), `${NAME}` and the specifiers %n %N %h %% filled in."""
    first, *rest = (_specifiers(unit, word) for word in unit.argv)
    # A bare name is looked up on systemd's own path, never on the unit's.
    found = first if "/" in first else shutil.which(first, path=_SEARCH_PATH) or first
    return (found, *(part for word in rest for part in _expand(word, environment)))


def _specifiers(unit: UnitFile, word: str) -> str:
    stem = unit.name.removesuffix(".service")
    table = {"%n": unit.name, "%N": stem, "%p": stem, "%h": str(Path.home()), "%%": "%"}
    pieces = []
    at = 0
    while at < len(word):
        pair = word[at : at + 2]
        pieces.append(table.get(pair, word[at]))
        at += 2 if pair in table else 1
    return "".join(pieces)


def _expand(word: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    name = word[1:]
    if word.startswith("$") and name.isidentifier():
        return tuple(environment.get(name, "").split())
    for known in {part.split("}")[0] for part in word.split("${")[1:]}:
        word = word.replace(f"${{{known}}}", environment.get(known, ""))
    return (word,)
