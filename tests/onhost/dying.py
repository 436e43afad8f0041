"""A process that dies before any one of its calls to the system: from there on none of them does anything more."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# All that changes what is on the disk, and what puts it there for good.
STEPS = (
    "open",
    "fsync",
    "fchmod",
    "replace",
    "rename",
    "mkdir",
    "rmdir",
    "unlink",
    "symlink",
    "link",
    "ftruncate",
)


class Killed(BaseException):
    """No handler may catch it, and what a `finally` does comes to nothing too: nobody is there to do it."""


class Life:
    """So many calls are left to a process; `calls` are those it made."""

    def __init__(self, calls_left: int) -> None:
        self._left = calls_left
        self.calls: list[str] = []

    def step(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def one(*args: Any, **kwargs: Any) -> Any:
            if len(self.calls) >= self._left:
                raise Killed(name)
            self.calls.append(f"{name} {args[0] if args else ''}")
            return call(*args, **kwargs)

        return one


@contextlib.contextmanager
def lives(calls: int = 1 << 30) -> Iterator[Life]:
    """Within this only so many calls are made; the next one, and all after it, kill."""
    life = Life(calls)
    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            patch.setattr(os, name, life.step(name, getattr(os, name)))
        yield life
