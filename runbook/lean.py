"""Importing a library without what it imports for others: a start costs what it imports, and a start is most of a task."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def without(module: str, *names: str, **functions: Callable[..., object]) -> Iterator[None]:
    """In here the module has these names and functions and nothing else, unless it was imported before; afterwards it is as
    it was. The names can be held, and raise ImportError when they are called."""
    if module in sys.modules:
        yield
        return
    stand_in = sys.modules[module] = ModuleType(module)
    vars(stand_in).update({name: _left_out(f"{module}.{name}") for name in names} | functions)
    try:
        yield
    finally:
        if sys.modules.get(module) is stand_in:
            del sys.modules[module]


def _left_out(name: str) -> Callable[..., NoReturn]:
    def call(*args: object, **options: object) -> NoReturn:
        raise ImportError(f"{name} was left out of this start")

    return call


def version(distribution: str) -> str:
    """An installed distribution's version by the name of its directory, which `importlib.metadata` takes 12 ms to load for;
    `unknown` where it has none."""
    found = (path for entry in sys.path for path in Path(entry).glob(f"{distribution}-*.dist-info"))
    return next(
        (path.name.removeprefix(f"{distribution}-").removesuffix(".dist-info") for path in found), "unknown"
    )
