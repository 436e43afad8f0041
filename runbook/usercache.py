"""Files of the user's cache directory: things that can be made again, kept so that the next run need not."""

from __future__ import annotations

import contextlib
import os
import pickle
import stat
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")

# What a damaged pickle raises (30,000 of them were tried).
_DAMAGED = (
    *(pickle.UnpicklingError, EOFError, AttributeError, ImportError, LookupError, TypeError, ValueError),
    *(OverflowError, MemoryError),
)
_MOST_BYTES = 16 * 1024 * 1024  # what is larger was not kept by us


def directory() -> Path:
    """`$XDG_CACHE_HOME/runbook`, by default in ~/.cache; where there is no home, a path that takes nothing."""
    named = Path(os.environ.get("XDG_CACHE_HOME") or ".")
    try:
        return (named if named.is_absolute() else Path.home() / ".cache") / "runbook"
    except RuntimeError:
        return Path(os.devnull) / "runbook"


def read(path: Path) -> bytes | None:
    """A kept file; None where there is none, or where somebody else could have written it."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            good = _ours(status) and _ours(path.parent.stat()) and status.st_size <= _MOST_BYTES
            return file.read() if good else None
    except OSError:
        return None


def keep(path: Path, content: bytes, *, most: int) -> None:
    """Keep a file, and of those with its suffix the `most` youngest. A cache that cannot be written stops nobody.

    Nothing is kept in a directory of somebody else's, who could lead our writing to a file of ours by a symlink.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _ours(path.parent.lstat()):
            return
        fresh.unlink(missing_ok=True)
        with os.fdopen(
            os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb"
        ) as file:
            file.write(content)
        fresh.replace(path)
        prune(path, most)
    with contextlib.suppress(OSError):
        fresh.unlink(missing_ok=True)  # what a full disk took of it


def unpickled(path: Path, kind: type[T]) -> T | None:
    """A kept value; None where there is none that can be trusted, read, and is of this kind."""
    content = read(path)
    if content is None:
        return None
    try:
        value = pickle.loads(content)
    except _DAMAGED:
        return None
    return value if isinstance(value, kind) else None


def stamps(paths: Iterable[Path]) -> Iterator[bytes]:
    """What changes with the code that made a kept value: name, size and time of its files."""
    for path in paths:
        try:
            status = path.stat()
        except OSError:  # such as an editor's lock, a symlink to nowhere
            continue
        yield f"{path.name} {status.st_size} {status.st_mtime_ns};".encode("utf-8", "surrogateescape")


def prune(path: Path, most: int) -> None:
    """Of the files beside `path` with its suffix, remove all but the `most` youngest."""
    beside = ((_age(found), found) for found in path.parent.glob(f"*{path.suffix}"))
    for _, old in sorted(beside)[:-most]:
        old.unlink(missing_ok=True)


def _age(path: Path) -> float:
    """When a file was written last; long ago for one that is gone: another runbook removes old ones, too."""
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return 0.0


def _ours(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
