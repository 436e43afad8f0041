"""What a rollout did to a host, taken from the calls it made: nothing that went over the wire can be forgotten."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook.onhost.masking import mask_text
from runbook.programs import Program, Programs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LIMIT = 400
_ABOUT_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Called:
    """One call of the helper that ended: what it was about, how long it took, and its error, if it had one.

    `args` and `value` are what went over the wire, None where an error came back: not for showing. `ago_s` is how long
    before it is told it ended: calls may come back together. `programs` are those that it ran on the host.
    """

    call: str
    about: str
    duration_s: float
    error: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    value: Any = field(default=None, compare=False, repr=False)
    ago_s: float = field(default=0.0, compare=False, repr=False)
    programs: tuple[Program, ...] = field(default=(), compare=False, repr=False)


@dataclass
class Deeds:
    """Calls in their order, and of them the files written, the units restarted and the release's last verdict.

    `clock` returns seconds. Of `calls` the first LIMIT are kept, equal neighbours as one; `left_out` counts the others.
    """

    clock: Callable[[], float]
    calls: list[dict[str, Any]] = field(default_factory=list)
    left_out: int = 0
    programs: Programs = field(default_factory=Programs)
    files: list[dict[str, Any]] = field(default_factory=list)
    restarts: list[dict[str, Any]] = field(default_factory=list)
    verdict: str | None = None
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def add(self, called: Called) -> None:
        """Take in one call that ended."""
        at_s = self.clock() - self.began - called.ago_s - called.duration_s
        self._log(_entry(called, at_s))
        self.programs.add(called.call, called.programs, at_s)
        if called.error is not None:
            return
        match called.call:
            case "files_write":
                self.files += _written(called.args["changes"], called.value)
            case "unit_restart":
                unit, before = called.args["unit"], called.value.get("before")
                self.restarts.append({"unit": unit, "before": int(before or 0), "after": None})
            case "record_start":
                self._came_up(called.args["unit"], called.args["pid"])
            case "units":
                self._seen(called.value)
            case "release_update":
                self.verdict = called.args["fields"].get("verdict", self.verdict)

    def _log(self, entry: dict[str, Any]) -> None:
        last = self.calls[-1] if self.calls else None
        if last is not None and all(last[key] == entry[key] for key in ("call", "about", "error", "exit")):
            last["times"] += 1
            last["duration_s"] = round(last["duration_s"] + entry["duration_s"], 3)
        elif len(self.calls) < LIMIT:
            self.calls.append(entry)
        else:
            self.left_out += 1

    def _came_up(self, unit: str, pid: int) -> None:
        last = self._last_restart(unit)
        if last is not None:
            last["after"] = pid

    def _seen(self, units: Mapping[str, Mapping[str, str]]) -> None:
        """The first MainPID seen after a restart is what it started, whether or not it ever came up."""
        for unit, properties in units.items():
            last, pid = self._last_restart(unit), int(properties.get("MainPID") or 0)
            if last is not None and last["after"] is None and pid not in (0, last["before"]):
                last["after"] = pid

    def _last_restart(self, unit: str) -> dict[str, Any] | None:
        return next((restart for restart in reversed(self.restarts) if restart["unit"] == unit), None)


def _entry(called: Called, at_s: float) -> dict[str, Any]:
    exit_code = called.value.get("exit") if isinstance(called.value, dict) else None
    return {
        "call": called.call,
        "about": _bounded(mask_text(_about(called))),
        "at_s": round(at_s, 3),
        "duration_s": round(called.duration_s, 3),
        "error": called.error,
        "exit": exit_code,
        "times": 1,
    }


def _bounded(text: str) -> str:
    """Whole words of a text: of a key that was cut in two, what masks it later would know neither half."""
    return text if len(text) <= _ABOUT_LIMIT else f"{text[:_ABOUT_LIMIT].rpartition(' ')[0]} …"


def _about(called: Called) -> str:
    """What the call was about; of a command its words, of a write the files."""
    match called.call:
        case "job_start":
            return shlex.join(map(str, called.args.get("argv") or ()))
        case "files_write":
            return " ".join(str(change["path"]) for change in called.args.get("changes") or ())
    return called.about


def _written(changes: list[Mapping[str, Any]], now: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """SHA-256 before and after of each file; None: there was, or is, none."""
    return [
        {"path": change["path"], "before": change["before"], "after": now.get(change["path"])}
        for change in changes
    ]
