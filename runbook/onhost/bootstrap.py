"""Loads the helper's modules from the payload that carries them; `runbook.bundle` appends the call of `start`."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any


class Modules:
    """A meta-path finder and loader over modules by name, each its source or its code."""

    def __init__(self, modules: dict[str, str | CodeType]) -> None:
        self._modules = modules
        self._packages = {name.rpartition(".")[0] for name in modules}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in self._modules:
            return None
        return ModuleSpec(name, self, is_package=name in self._packages)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        name = module.__name__
        found = self._modules[name]
        exec(compiled(name, found) if isinstance(found, str) else found, module.__dict__)

    def get_source(self, name: str) -> str | None:
        """For tracebacks, which then show our lines."""
        found = self._modules.get(name)
        return found if isinstance(found, str) else None


def compiled(name: str, source: str) -> CodeType:
    """A module's code, as a traceback names it."""
    return compile(source, f"<{name}>", "exec", dont_inherit=True)


def start(modules: dict[str, str | CodeType]) -> None:
    """Make the modules importable and run the helper until its channel ends."""
    sys.meta_path.insert(0, Modules(modules))
    from runbook.onhost.main import main

    sys.exit(main())
