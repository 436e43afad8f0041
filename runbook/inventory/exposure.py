"""Host files that somebody else on this machine could have written: what they say is run on the hosts, often as root."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_BY_OTHERS = 0o002


def warnings(files: Iterable[Path]) -> Iterator[str]:
    """One a file that everybody may write, or replace by way of a directory above it."""
    for path in files:
        if why := _exposed(path):
            yield f"{path}: {why}, and what it says is run on the host"


def _exposed(path: Path) -> str:
    try:
        mode = path.stat().st_mode
        if mode & _BY_OTHERS:
            return f"everybody here can write it (mode {stat.S_IMODE(mode):04o}; `chmod o-w` closes it)"
        above = next((one for one in path.resolve().parents if _open(one)), None)
    except OSError:
        return ""  # whoever reads it says why that cannot be done
    return f"everybody here can write {above} above it" if above else ""


def _open(directory: Path) -> bool:
    """Whether everybody may rename what lies in it; in a sticky one, such as /tmp, only its owner may."""
    mode = directory.stat().st_mode
    return bool(mode & _BY_OTHERS) and not mode & stat.S_ISVTX
