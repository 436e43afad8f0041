"""The state directory: made ours alone, refused when it is not, written atomically and to the disk."""

from __future__ import annotations

import contextlib
import json
import os
import stat

from runbook.onhost import ancestors, frames
from runbook.onhost.calls import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

PRIVATE_DIRECTORY = 0o700
PRIVATE_FILE = 0o600


def exists(state: str) -> bool:
    """Is there a state directory? Refusal where others could have written it, or could put another in its place."""
    absolute(state)
    check(state)
    return os.path.lexists(state)


def ensure(state: str) -> str:
    """Make the state directory (0700) with its parents, or check the one that is there."""
    if not exists(state):
        os.makedirs(os.path.dirname(state), mode=0o755, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(state, PRIVATE_DIRECTORY)
        check(state)
        sync_directory(os.path.dirname(state))
    return state


def make_private(path: str) -> None:
    """Make a directory and what is missing above it, for us alone; `os.makedirs` gives its mode to the last only."""
    if not os.path.isdir(path):
        make_private(os.path.dirname(path))
        os.mkdir(path, PRIVATE_DIRECTORY)
        sync_directory(os.path.dirname(path))


def check(state: str) -> None:
    """Refusal unless the directory, where it is there, is a real one, ours, and nobody else's to write or to replace."""
    problem = ancestors.problem(os.path.dirname(state)) or _problem(state)
    if problem:
        raise Refusal(
            "invalid",
            f"{state}: {problem}; set state_dir to a place that nobody else can write or replace",
            {"path": state},
        )


def _problem(state: str) -> str | None:
    if not os.path.lexists(state):
        return None
    found = os.lstat(state)
    if stat.S_ISLNK(found.st_mode):
        return "is a symlink"
    if not stat.S_ISDIR(found.st_mode):
        return "is not a directory"
    if found.st_uid != os.geteuid():
        return f"belongs to uid {found.st_uid}, not to us ({os.geteuid()}; `become: true` works as root)"
    if found.st_mode & 0o022:
        return f"is writable by others (mode {stat.S_IMODE(found.st_mode):04o})"
    return None


def absolute(path: str) -> str:
    """The path itself; Refusal where it is not absolute and normalised."""
    if not os.path.isabs(path) or os.path.normpath(path) != path or "\0" in path:
        raise Refusal("invalid", f"{path!r} should be an absolute path without `..`", {"path": path})
    return path


def read_json(path: str) -> Any:
    """The document in a file, None where it is absent or no whole JSON."""
    try:
        with open(path, encoding="utf-8", opener=_without_waiting) as file:
            return json.load(file, parse_constant=frames.no_number, parse_float=frames.finite)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError, RecursionError):
        return None


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe in its place would wait for a writer


def write_json(path: str, document: Any) -> None:
    """Replace a file by a document: old or new, never half, and on the disk when we return."""
    write_bytes(path, (json.dumps(document, sort_keys=True, indent=1) + "\n").encode("utf-8"))


def write_bytes(path: str, content: bytes, mode: int = PRIVATE_FILE) -> None:
    """Replace a file of ours atomically and durably."""
    fresh = f"{path}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(fresh)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
    sync_directory(os.path.dirname(path))


def remove(path: str) -> None:
    """Remove a file of ours, durably; absent is fine."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
        sync_directory(os.path.dirname(path))


def sync_directory(path: str) -> None:
    """Put a directory's entries on the disk."""
    with opened(path, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        os.fsync(descriptor)


@contextlib.contextmanager
def opened(path: str, flags: int, mode: int = PRIVATE_FILE) -> Iterator[int]:
    """A descriptor that is closed at the end and never inherited by what we exec."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
