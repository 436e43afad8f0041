"""YAML files that ship with the package, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.errors import HostFileError
from runbook.inventory.nodes import plain
from runbook.inventory.reading import decoded, read

if TYPE_CHECKING:
    from pathlib import Path


def document(path: Path) -> Any:
    """The values of a YAML file by YAML's core schema, None when it is empty.

    Raises HostFileError for what is not YAML, tags and repeated keys.
    """
    root, problems = read(decoded(path.read_bytes(), path.name), path.name)
    if problems:
        raise HostFileError([str(problem) for problem in problems])
    return None if root is None else plain(root, lambda _: False)
