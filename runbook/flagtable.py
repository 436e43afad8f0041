"""Each declared flag on each unit: what is wanted, what the file says, what the processes run with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook import unsaid
from runbook.errors import EditRefusedError
from runbook.onhost.masking import mask
from runbook.places import origins, told
from runbook.places.place import shown
from runbook.places.reading import Files
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from runbook.model import Flag, Host, Observation, Unit
    from runbook.places.origins import Origins
    from runbook.places.told import Told


@dataclass(frozen=True, slots=True)
class Row:
    """One flag on one unit. None means absent; `running_kind` is the evidence (see model.Processes).

    `in_file` is what comes of every file that feeds the unit; `places` tells them where the script is not the only one.
    """

    flag: Flag
    unit: Unit
    in_file: str | None
    running: str | None
    running_kind: str
    places: Told | None = None

    @property
    def outcome(self) -> Outcome:
        if self.in_file not in (self.flag.value, unsaid.DENIED):
            return Outcome.FAIL
        if self.running_kind == "unknown":
            return Outcome.INCONCLUSIVE
        if self.running != self.flag.value:
            return Outcome.FAIL
        return Outcome.INCONCLUSIVE if self.in_file == unsaid.DENIED else Outcome.PASS

    @property
    def message(self) -> str:
        name = self.flag.name
        unknown = self.running_kind == "unknown"
        running = "unknown" if unknown else f"{shown(name, self.running)} ({self.running_kind})"
        text = f"{name} on {self.unit.role}: wanted {told.wanted(self.flag)}, file {self._told_of_file}, running {running}"
        if self.outcome is Outcome.PASS:
            return text
        return "; ".join((text, *([self.places.sentence()] if self.places else []), self.flag.why))

    @property
    def _told_of_file(self) -> str:
        return self.in_file if self.in_file in unsaid.TEXTS else shown(self.flag.name, self.in_file)

    def finding(self, check: str) -> Finding:
        values = {"file": self.in_file, "running": self.running, "wanted": self.flag.value}
        evidence: dict[str, Any] = {"flag": self.flag.name, "unit": self.unit.name, "kind": self.running_kind}
        evidence |= {key: value and mask(self.flag.name, value) for key, value in values.items()}
        if self.places:
            evidence["places"] = self.places.to_json()["places"]
        return Finding(check, self.outcome, self.message, evidence)


def rows(host: Host, seen: Observation) -> tuple[Row, ...]:
    """A row per declared flag and unit, in the host file's order."""
    found = {unit.role: _origins(unit, host, seen) for unit in host.units if unit.script}
    return tuple(
        _row(flag, unit, found.get(unit.role), seen)
        for flag in host.flags
        for unit in host.units
        if unit.role in flag.units
    )


def _row(flag: Flag, unit: Unit, found: Origins | None, seen: Observation) -> Row:
    processes = seen.units[unit.name].processes
    return Row(
        flag,
        unit,
        in_file=_in_file(flag.name, found, seen, unit),
        running=processes.environ.get(flag.name),
        running_kind=processes.kind,
        places=told.of_flag(flag, unit.role, found, processes) if found else None,
    )


def _in_file(name: str, found: Origins | None, seen: Observation, unit: Unit) -> str | None:
    if found is None:
        script = seen.files.get(unit.script or "")
        if script and script.denied:
            return unsaid.DENIED
        return unsaid.GONE if script and script.absent else unsaid.UNREADABLE
    if not found.tells(name):
        return unsaid.DYNAMIC
    value = found.values.get(name)
    return unsaid.DENIED if value is None and _may_be_set_unseen(found, seen) else value


def _may_be_set_unseen(found: Origins, seen: Observation) -> bool:
    """Whether a file that feeds the unit is closed to this login: what no other sets, it may."""
    closed = [path for path, file in (*seen.files.items(), *seen.feeds.items()) if file.denied]
    return any(path in line for line in found.unread for path in closed)


def _origins(unit: Unit, host: Host, seen: Observation) -> Origins | None:
    """Where the unit's variables come from; None for a script that is missing or cannot be read."""
    if seen.files[unit.script or ""].content is None:
        return None
    try:
        return origins.of(unit, host.flags, Files(seen))
    except EditRefusedError:
        return None
