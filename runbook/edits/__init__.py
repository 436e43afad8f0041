"""Edits that understand the file: each kind is a module here with `edit(text, *, set, unset) -> str`, found by its name."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

from runbook.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType


def named(kind: str) -> ModuleType:
    """The edit module of a kind, for example `serve_script` or `env_file`; imported only now.

    Raises UsageError for a kind without a module here, or a module without `edit`.
    """
    found = kind.isidentifier() and importlib.util.find_spec(f"{__name__}.{kind}")
    module = importlib.import_module(f"{__name__}.{kind}") if found else None
    if module is None or not hasattr(module, "edit"):
        raise UsageError(f"no edit named {kind!r}; an edit is a module with edit() in runbook/edits/")
    return module
