"""The places of a flag as people read them: only where there is more to say than one line of the script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from runbook.places.place import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.model import Flag, Host, Observation, Processes
    from runbook.places.origins import Origins
    from runbook.places.place import Place


class Told(NamedTuple):
    """One flag on one unit: its places in rising precedence, the one that wins, and what runs."""

    flag: str
    role: str
    wanted: str
    places: tuple[Place, ...]
    winner: Place | None
    running: str

    def lines(self) -> list[str]:
        """A heading, a line a place, and one of what runs."""
        each = [f"  {place.where} sets {place.shown}{self._wins(place)}" for place in self.places]
        return [f"{self.flag} on {self.role}, wanted {self.wanted}:", *each, f"  running: {self.running}"]

    def sentence(self) -> str:
        """`drop-in X:3 sets '0' and wins, script Y:14 sets '1'`."""
        return ", ".join(f"{place.where} sets {place.shown}{self._wins(place)}" for place in self.places)

    def to_json(self) -> dict[str, Any]:
        places = [place.to_json() | {"wins": place is self.winner} for place in self.places]
        return {"flag": self.flag, "unit": self.role, "places": places, "running": self.running}

    def _wins(self, place: Place) -> str:
        return " and wins" if place is self.winner else ""


def told(host: Host, seen: Observation, origins: Mapping[str, Origins]) -> tuple[Told, ...]:
    """Every flag and unit whose places need telling, in the host file's order; `origins` by role."""
    return tuple(
        one
        for flag in host.flags
        for role in flag.units
        if role in origins and (one := of_flag(flag, role, origins[role], _processes(host, seen, role)))
    )


def of_flag(flag: Flag, role: str, origins: Origins, processes: Processes) -> Told | None:
    """The places of one flag on one unit; None where the script alone sets it, once, or nobody does."""
    places = origins.places.get(flag.name, ())
    if len(places) < 2 and all(place.kind == "script" for place in places):
        return None
    running = _running(flag.name, processes)
    return Told(flag.name, role, wanted(flag), places, origins.winner(flag.name), running)


def wanted(flag: Flag) -> str:
    """A flag's wanted value; with the engine's default where it is absent."""
    if flag.value is None and flag.engine_default:
        return f"absent → engine default {flag.engine_default}"
    return shown(flag.name, flag.value)


def _processes(host: Host, seen: Observation, role: str) -> Processes:
    return seen.units[host.unit(role).name].processes


def _running(name: str, processes: Processes) -> str:
    if processes.kind == "unknown":
        return "unknown"
    return f"{shown(name, processes.environ.get(name))} ({processes.kind} of pid {processes.pid})"
