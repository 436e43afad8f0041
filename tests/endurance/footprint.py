"""What a process holds on to: memory, descriptors, threads, children; and whether a figure grows with the work done.

Linux: it is read from /proc.
"""

from __future__ import annotations

import functools
import gc
import os
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PROC = Path("/proc")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Footprint:
    """One look at a process: its memory, and by name what it holds on to."""

    rss_bytes: int
    descriptors: tuple[str, ...]
    """What each is open on."""
    threads: tuple[str, ...]
    """By id and name."""
    children: tuple[str, ...]
    """By pid, zombies too."""

    @property
    def held(self) -> Counter[str]:
        """What there must be no more of after the work than before it.

        By identity, not by number: a thread of earlier work that was just ending at the first look would otherwise make
        room for one that stays.
        """
        return Counter([*self.descriptors, *self.threads, *self.children])


def of(pid: int | None = None) -> Footprint:
    """The footprint of a process, by default this one."""
    home = _PROC / str(pid or os.getpid())
    tasks = list((home / "task").iterdir())
    return Footprint(
        rss_bytes=int((home / "statm").read_text().split()[1]) * _PAGE_BYTES,
        descriptors=tuple(_descriptors(home / "fd")),
        threads=tuple(_threads(tasks)),
        children=tuple(_children(tasks)),
    )


def left_over(before: Footprint, pid: int | None = None, within_s: float = 10.0) -> str:
    """What a process holds that it did not before, in words; empty for nothing. What ends by itself may take a moment to."""
    deadline = time.monotonic() + within_s
    while (more := of(pid).held - before.held) and time.monotonic() < deadline:
        time.sleep(0.02)
    return ", ".join(more.elements())


def _threads(tasks: Sequence[Path]) -> Iterator[str]:
    return (f"thread {task.name} {name}" for task in tasks if (name := _text(task / "comm").strip()))


def _children(tasks: Sequence[Path]) -> Iterator[str]:
    return (f"child {pid}" for task in tasks for pid in _text(task / "children").split())


def _descriptors(directory: Path) -> Iterator[str]:
    """What the descriptors are open on; the one that lists them is none of them."""
    targets = (_target(entry) for entry in directory.iterdir())
    return (target for target in targets if target not in ("", f"{directory.resolve()}"))


def _target(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except FileNotFoundError:  # closed meanwhile
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):  # the thread ended meanwhile
        return ""


def blocks() -> int:
    """How many of Python's small objects are alive in this process, without what caches hold within bounds and cycles."""
    forget = (
        getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache
    )  # the latter until Python 3.12
    forget()
    for cache in bounded_caches():
        cache.cache_clear()
    gc.collect()
    return sys.getallocatedblocks()


def bounded_caches() -> Iterator[functools._lru_cache_wrapper[object]]:
    """Every `lru_cache` of this process that has an end: it is full only after many rounds, and grows until then.

    Rich keeps the widths of the last 4,096 lines it has measured: some lines of every rollout are its own, and how many
    hangs on how long the paths are that they name.
    """
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper) and one.cache_parameters()["maxsize"] is not None:
            yield one


def files_below(*directories: Path) -> tuple[Path, ...]:
    """Every file and symlink below these directories, in order."""
    return tuple(
        sorted(path for one in directories for path in one.rglob("*") if path.is_symlink() or path.is_file())
    )


def bytes_of(paths: Sequence[Path]) -> int:
    """Contents of these files, in bytes."""
    return sum(path.lstat().st_size for path in paths)


def slope(samples: Sequence[float]) -> float:
    """Growth from one sample to the next over the second half: by then whatever is kept once is there."""
    later = samples[len(samples) // 2 :]
    return statistics.linear_regression(range(len(later)), later).slope
