"""A process's environment as the kernel shows it: intact, or overwritten by a process title and so unknown."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from collections.abc import Iterable

SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "busybox", "fish", "tcsh", "csh"))
MASK = "***"
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_ASSIGNED = re.compile(r"(?:^|[\s;&|(])([A-Za-z_][A-Za-z0-9_]*)=", re.MULTILINE)


def read(proc: str, pid: int) -> dict[str, str] | None:
    """The environment a process was started with; None where it is blank, overwritten or not ours to read."""
    try:
        with open(f"{proc}/{pid}/environ", "rb") as file:
            return parse(file.read())
    except OSError:
        return None


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


def selector(names: Iterable[str], patterns: Iterable[str]) -> Callable[[str], bool]:
    """Does a variable's name leave the host?"""
    wanted = frozenset(names)
    compiled = [re.compile(pattern) for pattern in patterns]
    return lambda name: name in wanted or any(pattern.fullmatch(name) for pattern in compiled)


def select(environ: dict[str, str], leaves: Callable[[str], bool]) -> dict[str, str]:
    """What of an environment leaves the host, secrets masked."""
    return {name: mask(name, value) for name, value in environ.items() if leaves(name)}


def mask(name: str, value: str) -> str:
    """The value, or a mask where the name says it is a secret."""
    return MASK if _SECRET.search(name) else value


def assigned(script: bytes) -> Iterable[str]:
    """Names a script seems to assign: generous on purpose, it only decides what may be shown."""
    return frozenset(_ASSIGNED.findall(script.decode("utf-8", "replace")))
