"""Importing a library without what it imports for others: a start costs what it imports, and a start is most of a task."""

from __future__ import annotations

import contextlib
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def without(module: str, *names: str, **functions: Callable[..., object]) -> Iterator[None]:
    """In here the module has these names and functions alone, unless it was imported before; afterwards it is as it was.
    Who asks for more of it, as another version of the library may, or calls one of the names, gets the real one."""
    if module in sys.modules:
        yield
        return
    stand_in = sys.modules[module] = _StandIn(module)
    vars(stand_in).update({name: stand_in.later(name) for name in names} | functions)
    try:
        yield
    finally:
        if sys.modules.get(module) is stand_in:
            del sys.modules[module]


class _StandIn(ModuleType):
    """A module that is imported when more is wanted of it than it was given."""

    def later(self, name: str) -> Callable[..., object]:
        """A function that the real module has, or a class of it to make one of."""
        return lambda *args, **options: getattr(self._real(), name)(*args, **options)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # asked by the import system of every module
            raise AttributeError(name)
        return getattr(self._real(), name)

    def _real(self) -> ModuleType:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return import_module(self.__name__)


def version(distribution: str) -> str:
    """An installed distribution's version by the name of its directory, which `importlib.metadata` takes 12 ms to load for;
    `unknown` where it has none."""
    names = (name for entry in sys.path for name in _names(entry, f"{distribution}-*.dist-info"))
    return next(
        (name.removeprefix(f"{distribution}-").removesuffix(".dist-info") for name in names), "unknown"
    )


def _names(entry: str, pattern: str) -> list[str]:
    """What is called so in a directory of the import path; nothing in one that we may not look into."""
    try:
        return [path.name for path in Path(entry).glob(pattern)]
    except OSError:
        return []
