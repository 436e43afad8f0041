"""Is there room for what we are about to write, and may the file system be written at all?"""

from __future__ import annotations

import os
from typing import NamedTuple

from runbook.onhost.calls import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# A block for the file and its share of the directory and journal; inodes where a file system does not count them.
_SLACK_BYTES = 16 * 1024
UNCOUNTED_INODES = 1 << 31


class Room(NamedTuple):
    """What a file system has left for this user, and whether it is mounted read-only."""

    free_bytes: int
    free_inodes: int
    read_only: bool


def room(path: str) -> Room:
    """The room of the file system that holds `path`, or would."""
    found = os.statvfs(nearest(path))
    ours = os.geteuid() == 0
    blocks, inodes = (found.f_bfree, found.f_ffree) if ours else (found.f_bavail, found.f_favail)
    return Room(
        free_bytes=blocks * found.f_frsize,
        free_inodes=inodes if found.f_files else UNCOUNTED_INODES,
        read_only=bool(found.f_flag & os.ST_RDONLY),
    )


def nearest(path: str) -> str:
    """The path, or its nearest ancestor that exists."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path


def require(wanted: Iterable[tuple[str, int]]) -> None:
    """Refusal `read-only` or `no-space` unless each (directory, new file's bytes) fits beside the others."""
    for directory, sizes in _by_file_system(wanted).items():
        _require(directory, sizes, room(directory))


def _by_file_system(wanted: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    first: dict[int, str] = {}
    sizes: dict[str, list[int]] = {}
    for path, size in wanted:
        directory = first.setdefault(os.stat(nearest(path)).st_dev, path)
        sizes.setdefault(directory, []).append(size)
    return sizes


def _require(directory: str, sizes: list[int], left: Room) -> None:
    needed = sum(sizes) + _SLACK_BYTES * len(sizes)
    if left.read_only:
        raise Refusal("read-only", f"{directory} is on a read-only file system", {"path": directory})
    if left.free_bytes < needed:
        message = f"{directory}: {left.free_bytes} bytes free, {needed} needed"
        raise Refusal("no-space", message, {"path": directory, "free": left.free_bytes, "needed": needed})
    if left.free_inodes < len(sizes):
        message = f"{directory}: {left.free_inodes} inodes free, {len(sizes)} needed"
        raise Refusal(
            "no-space", message, {"path": directory, "free": left.free_inodes, "needed": len(sizes)}
        )
