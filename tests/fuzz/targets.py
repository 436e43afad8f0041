"""The targets by their names."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from tests.fuzz.fuzzing import Target

MODULES = {
    "sse": "sse",
    "script": "script",
    "frames": "frames",
    "yaml": "hostfile",
    "flat": "flat",
    "masking": "masking",
}


def target(name: str) -> Target:
    """The target of a name in MODULES: a module with `case` and `hold`."""
    return cast("Target", importlib.import_module(f"tests.fuzz.{MODULES[name]}"))
