"""A process's environment as the kernel shows it: intact, or overwritten by a process title and so unknown."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from runbook.onhost.masking import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "busybox", "fish", "tcsh", "csh"))
# The first of these that is so of some process of a unit is why the unit is silent.
UNREADABLE, OVERWRITTEN, EMPTY, SHELL = "unreadable", "title overwritten", "empty", "only a shell"
_ASSIGNED = re.compile(r"(?:^|[\s;&|(])([A-Za-z_][A-Za-z0-9_]*)=", re.MULTILINE)


def read(proc: str, pid: int) -> dict[str, str] | None:
    """The environment a process was started with; None where it is blank, overwritten or not ours to read."""
    try:
        with open(f"{proc}/{pid}/environ", "rb") as file:
            return parse(file.read())
    except OSError:
        return None


def silence(proc: str, pid: int, name: str) -> str:
    """Why a process, whose program is called `name`, cannot speak for its unit, in words that tell what would help."""
    if is_shell(name):
        return SHELL
    try:
        with open(f"{proc}/{pid}/environ", "rb") as file:
            return OVERWRITTEN if file.read(1) else EMPTY
    except OSError:
        return UNREADABLE


def parse(content: bytes) -> dict[str, str] | None:
    """NUL-ended `NAME=value` entries. setproctitle writes over this memory: then entries are empty or broken."""
    if not content.endswith(b"\0"):
        return None
    entries = content[:-1].split(b"\0")
    if not all(entry.find(b"=") > 0 for entry in entries):
        return None
    texts = (entry.decode("utf-8", "surrogateescape") for entry in entries)
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def program(proc: str, pid: int, comm: str) -> str:
    """The name of the file a process runs; its `comm`, which it may have changed, where that is not ours to see."""
    try:
        return os.path.basename(os.readlink(f"{proc}/{pid}/exe"))
    except OSError:
        return comm


def is_shell(name: str) -> bool:
    """A shell's environ lacks what it exports itself, so it cannot speak for what it started."""
    return name.lstrip("-").partition(" ")[0] in SHELLS


class Selection(NamedTuple):
    """Which variables leave the host: those `declared` as they are, `assigned` and matching ones with secrets masked."""

    declared: frozenset[str] = frozenset()
    assigned: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()

    def of(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What of an environment leaves the host."""
        return {name: self._shown(name, value) for name, value in environ.items() if self._leaves(name)}

    def _leaves(self, name: str) -> bool:
        known = name in self.declared or name in self.assigned
        return known or any(re.fullmatch(pattern, name) for pattern in self.patterns)

    def _shown(self, name: str, value: str) -> str:
        # A declared flag's value stands in a host file already, whatever its name sounds like.
        return value if name in self.declared else mask(name, value)


def assigned(script: bytes) -> frozenset[str]:
    """Names a script seems to assign: generous on purpose, it only decides what may be shown."""
    return frozenset(_ASSIGNED.findall(script.decode("utf-8", "replace")))
