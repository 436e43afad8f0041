"""Kinds of edit, probe and validation: each is one module of its room, found by its file's name."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from runbook.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType

_PACKAGE = Path(__file__).parent
_NAME = re.compile(r"[A-Za-z]\w{0,99}", re.ASCII)


def exists(room: str, kind: str) -> bool:
    """Whether the room has a module of that name; nothing of the room is imported."""
    return _NAME.fullmatch(kind) is not None and (_PACKAGE / room / f"{kind}.py").is_file()


def named(room: str, kind: str, does: str) -> ModuleType:
    """The module of a kind, imported only now; it has a function `does`.

    Raises UsageError for a kind without a module in the room, or a module without that function.
    """
    module = importlib.import_module(f"runbook.{room}.{kind}") if exists(room, kind) else None
    if module is None or not hasattr(module, does):
        what = room.removesuffix("s")
        raise UsageError(f"no {what} named {kind!r}; {what}s are modules with {does}() in runbook/{room}/")
    return module
