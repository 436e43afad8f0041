"""Host files: YAML to Host, every error at once.

Importing this costs little; YAML and the schema are loaded by the first use that needs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from runbook.inventory.lookup import exposed, known, load
from runbook.inventory.overrides import overridden, overriding, undeclared

if TYPE_CHECKING:
    from runbook.inventory.adopt import adopt_text, roles
    from runbook.inventory.documents import document
    from runbook.inventory.hostfile import parse

__all__ = [
    "adopt_text",
    "document",
    "exposed",
    "known",
    "load",
    "overridden",
    "overriding",
    "parse",
    "roles",
    "undeclared",
]

_ROOMS = {"adopt_text": "adopt", "roles": "adopt", "document": "documents", "parse": "hostfile"}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_ROOMS[name]}"), name)
