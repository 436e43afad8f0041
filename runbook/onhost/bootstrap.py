"""Loads the helper's modules from the payload that carries them; `runbook.bundle` appends the call of `start`."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Sources:
    """A meta-path finder and loader over module sources by name; `packages` are those that have modules below."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources
        self._packages = {name.rpartition(".")[0] for name in sources}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in self._sources:
            return None
        return ModuleSpec(name, self, is_package=name in self._packages)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        name = module.__name__
        exec(compile(self._sources[name], f"<{name}>", "exec", dont_inherit=True), module.__dict__)

    def get_source(self, name: str) -> str | None:
        """For tracebacks, which then show our lines."""
        return self._sources.get(name)


def start(sources: dict[str, str]) -> None:
    """Make the modules importable and run the helper until its channel ends."""
    sys.meta_path.insert(0, Sources(sources))
    from runbook.onhost.main import main

    sys.exit(main())
