"""Each declared launch argument: what is wanted, what the script's launch says, what the process was started with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook import unsaid
from runbook.places import arguments
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from typing import Any

    from runbook.model import Argument, Host, Observation, Unit
    from runbook.places.arguments import Arguments, Values


@dataclass(frozen=True, slots=True)
class Row:
    """One argument of one unit; `launch` is its script's command line, `running` its process's. `denied`: the login may not
    read the script."""

    argument: Argument
    unit: Unit
    launch: Arguments
    running: Arguments
    pid: int
    denied: bool = False

    @property
    def outcome(self) -> Outcome:
        if self.denied:
            return self._of_process_alone
        if not self.launch.tells(self.argument.name) or self._in(self.launch) != self.argument.words:
            return Outcome.FAIL
        return self.as_launched

    @property
    def _of_process_alone(self) -> Outcome:
        """What runs can be wrong whatever a script says, and right only by what it says."""
        running = self.running.tells(self.argument.name)
        wrong = running and self._in(self.running) != self.argument.words
        return Outcome.FAIL if wrong else Outcome.INCONCLUSIVE

    @property
    def as_launched(self) -> Outcome:
        """Whether the process runs with what its script says now; what is not known is never a pass."""
        name = self.argument.name
        if not (self.launch.tells(name) and self.running.tells(name)):
            return Outcome.INCONCLUSIVE
        return Outcome.PASS if self._in(self.running) == self._in(self.launch) else Outcome.FAIL

    def finding(self, check: str, outcome: Outcome) -> Finding:
        """What the row says, judged as asked: `outcome` or `as_launched`."""
        name, wanted = self.argument.name, arguments.shown(self.argument.words)
        text = (
            f"{name} on {self.unit.role}: wanted {wanted}, script {self.in_script}, running {self.is_running}"
        )
        told = text if outcome is Outcome.PASS else f"{text}; {self.argument.why}"
        return Finding(check, outcome, told, {"argument": name, "unit": self.unit.name, "pid": self.pid})

    @property
    def in_script(self) -> str:
        return self._told(self.launch)

    @property
    def is_running(self) -> str:
        """The running words with the process that shows them, or why they are not known."""
        known = self.running.tells(self.argument.name)
        return (
            f"{self._told(self.running)} (cmdline of pid {self.pid})" if known else self._told(self.running)
        )

    def status(self) -> dict[str, Any]:
        """The row beside those of flags: JSON values, None for absent, `unsaid.ALONE` for an option without a value."""
        known = self.running.tells(self.argument.name)
        since, expires = self.argument.since, self.argument.expires
        return {
            "flag": self.argument.name,
            "unit": self.unit.role,
            "wanted": _one(self.argument.words),
            "file": self._file,
            "running": _one(self._in(self.running)) if known else None,
            "evidence": "cmdline" if known else "unknown",
            "outcome": self.outcome.value,
            "why": self.argument.why,
            "owner": self.argument.owner,
            "since": since and since.isoformat(),
            "expires": expires and expires.isoformat(),
        }

    @property
    def _file(self) -> str | None:
        if self.denied:
            return unsaid.DENIED
        return _one(self._in(self.launch)) if self.launch.tells(self.argument.name) else unsaid.UNKNOWN

    def _in(self, found: Arguments) -> Values | None:
        return found.of(self.argument.name)

    def _told(self, found: Arguments) -> str:
        if found.tells(self.argument.name):
            return arguments.shown(self._in(found))
        return f"unknown ({found.unknown or 'only a run can tell'})"


def _one(words: Values | None) -> str | None:
    return None if words is None else " ".join(words) if words else unsaid.ALONE


def rows(host: Host, seen: Observation) -> tuple[Row, ...]:
    """A row per declared argument, in the host file's order."""
    return tuple(row for unit in host.units if unit.args for row in _of_unit(unit, seen))


def _of_unit(unit: Unit, seen: Observation) -> tuple[Row, ...]:
    processes = seen.units[unit.name].processes
    script = seen.files[unit.script or ""]
    launch = arguments.of_file(unit.script, script.content)
    running = arguments.of_process(launch, processes)
    return tuple(Row(argument, unit, launch, running, processes.pid, script.denied) for argument in unit.args)
