"""Each declared flag on each unit: what is wanted, what the file says, what the processes run with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.errors import EditRefusedError
from runbook.plan import read_script, shown
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.model import Flag, Host, Observation, Unit

# What stands in a row for a file's value that is no literal: no flag can want these texts.
DYNAMIC = "(decided when the script runs)"
UNREADABLE = "(script missing or unreadable)"


@dataclass(frozen=True, slots=True)
class Row:
    """One flag on one unit. None means absent; `running_kind` is the evidence (see model.Processes)."""

    flag: Flag
    unit: Unit
    in_file: str | None
    running: str | None
    running_kind: str
    started_at: float

    @property
    def outcome(self) -> Outcome:
        if self.in_file != self.flag.value:
            return Outcome.FAIL
        if self.running_kind == "unknown":
            return Outcome.INCONCLUSIVE
        return Outcome.PASS if self.running == self.flag.value else Outcome.FAIL

    @property
    def message(self) -> str:
        wanted = shown(self.flag.value)
        if self.flag.value is None and self.flag.engine_default:
            wanted += f" (engine default {self.flag.engine_default})"
        running = (
            "unknown" if self.running_kind == "unknown" else f"{shown(self.running)} ({self.running_kind})"
        )
        text = f"{self.flag.name} on {self.unit.role}: wanted {wanted}, file {shown(self.in_file)}, running {running}"
        return text if self.outcome is Outcome.PASS else f"{text}; {self.flag.why}"

    def finding(self, check: str) -> Finding:
        evidence = {
            "flag": self.flag.name,
            "unit": self.unit.name,
            "file": self.in_file,
            "running": self.running,
        }
        return Finding(
            check,
            self.outcome,
            self.message,
            evidence | {"wanted": self.flag.value, "kind": self.running_kind},
        )


def rows(host: Host, seen: Observation) -> tuple[Row, ...]:
    """A row per declared flag and unit, in the host file's order."""
    files = {unit.role: _file_values(unit, seen) for unit in host.units if unit.script}
    return tuple(
        _row(flag, unit, files.get(unit.role), seen)
        for flag in host.flags
        for unit in host.units
        if unit.role in flag.units
    )


def _row(flag: Flag, unit: Unit, file: Mapping[str, str | None] | None, seen: Observation) -> Row:
    processes = seen.units[unit.name].processes
    running = processes.environ.get(flag.name)
    return Row(flag, unit, _in_file(flag.name, file), running, processes.kind, processes.started_at)


def _in_file(name: str, file: Mapping[str, str | None] | None) -> str | None:
    if file is None:
        return UNREADABLE
    return DYNAMIC if name in file and file[name] is None else file.get(name)


def _file_values(unit: Unit, seen: Observation) -> Mapping[str, str | None] | None:
    """What the unit's script gives each name; None for a script that is missing or cannot be read."""
    content = seen.files[unit.script or ""].content
    if content is None:
        return None
    try:
        return read_script(unit.script or "", content).values
    except EditRefusedError:
        return None
