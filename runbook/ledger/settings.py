"""Where variables were found set: a line of a script, a running process, an argument of the launch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runbook.model import Processes

# What the helper sends instead of a value whose name looks secret.
_MASKED = "***"


class Assigned(Protocol):
    """One assignment of a script, as runbook.edits.serve_script reads it."""

    @property
    def name(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def value(self) -> str | None: ...


class Script(Protocol):
    """What a serve script gives its launch, as runbook.edits.serve_script.read tells it."""

    @property
    def values(self) -> Mapping[str, str | None]: ...
    @property
    def unreadable(self) -> Mapping[str, str]: ...
    @property
    def assignments(self) -> Iterable[Assigned]: ...
    @property
    def launch(self) -> Sequence[str | None] | None: ...
    @property
    def launch_line(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Setting:
    """One place that sets `name` for the unit of a role. `value` None: only a run can tell, or it was masked.

    `where` is a `file:line` or a process; a launch argument's name begins with two dashes.
    """

    role: str
    name: str
    value: str | None
    where: str
    running: bool = False

    @property
    def is_argument(self) -> bool:
        return self.name.startswith("--")


def of_script(role: str, path: str, script: Script) -> list[Setting]:
    """The settings of a serve script: the assignments that reach its launch, in order, then the launch's long arguments."""
    reaching = script.values.keys() | script.unreadable.keys()
    assigned = [
        Setting(role, each.name, each.value, f"{path}:{each.line}")
        for each in script.assignments
        if each.name in reaching
    ]
    where = f"{path}:{script.launch_line}" if script.launch_line else path
    return [*assigned, *_arguments(role, where, script.launch or ())]


def _arguments(role: str, where: str, words: Sequence[str | None]) -> list[Setting]:
    parts = [word.partition("=") for word in words if word is not None and re.match(r"--\w", word)]
    return [Setting(role, name, value if sign else None, where) for name, sign, value in parts]


def of_processes(role: str, processes: Processes) -> list[Setting]:
    """The settings a unit's processes run with; nothing when that is unknown."""
    if processes.kind == "unknown":
        return []
    where = f"process {processes.pid}" if processes.pid else f"running ({processes.kind})"
    return [
        Setting(role, name, None if value == _MASKED else value, where, running=True)
        for name, value in sorted(processes.environ.items())
    ]
