"""Importing a library without what it imports for others: a start costs what it imports, and a start is most of a task."""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def without(module: str, *names: str) -> Iterator[None]:
    """In here the module has these names and nothing else, unless it was imported before; afterwards it is as it was.

    What they name can be held and raises ImportError when it is called.
    """
    if module in sys.modules:
        yield
        return
    stand_in = sys.modules[module] = ModuleType(module)
    vars(stand_in).update({name: _left_out(f"{module}.{name}") for name in names})
    try:
        yield
    finally:
        if sys.modules.get(module) is stand_in:
            del sys.modules[module]


def _left_out(name: str) -> Callable[..., NoReturn]:
    def call(*args: object, **options: object) -> NoReturn:
        raise ImportError(f"{name} was left out of this start")

    return call
