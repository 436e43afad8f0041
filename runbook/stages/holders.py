"""Who holds what a unit needs to start: its port, or the memory of the GPUs.

After a SIGKILL of the parent SGLang's schedulers are re-parented to PID 1 and keep both (sglang#23627): no unit knows
of them, and every start fails until somebody ends them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runbook.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runbook.model import Unit
    from runbook.work import Work

_FULL_GPU = re.compile(
    r"out of memory|not enough memory|cuda error 2\b|mem_fraction|gpu memory", re.IGNORECASE
)
_NAMED = 8  # holders in one message
_TICK_S = 0.02  # the kernel tells of a process's start in whole ticks, of 10 ms everywhere


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a unit: when it was asked for, in seconds since the host's boot (0: not known), and what its journal says."""

    unit: Unit
    after_boot_s: float = 0.0
    journal: str = ""

    @property
    def port(self) -> int | None:
        """Where the unit is to listen, as far as the host file tells."""
        return urlsplit(self.unit.health or self.unit.url or "").port

    def is_own(self, holder: Mapping[str, Any]) -> bool:
        """Does a process belong to this very start? What an earlier one left in the unit's control group does not."""
        began = holder["after_boot_s"]
        return holder["unit"] == self.unit.name and not 0 < began < self.after_boot_s - _TICK_S


def of_failed(work: Work, start: Start) -> list[str]:
    """A sentence for each process that stands in the way of a start that failed."""
    found = [*of_port(work, start), *_of_gpus(work, start)]
    more = len(found) - _NAMED
    return found[:_NAMED] + ([f"and {more} more"] if more > 0 else [])


def of_port(work: Work, start: Start) -> list[str]:
    """A sentence for each process but the unit's own that listens where the unit wants to."""
    return [
        f"port {start.port} is held by {named(one, start.unit)}"
        for one in _listening(work, start)
        if not start.is_own(one)
    ]


def is_taken_for(work: Work, start: Start) -> bool:
    """Does what an earlier start left in the unit's control group still listen where the unit wants to, and answer for it?"""
    return any(one["unit"] == start.unit.name and not start.is_own(one) for one in _listening(work, start))


def _listening(work: Work, start: Start) -> list[Mapping[str, Any]]:
    found: Mapping[str, list[Mapping[str, Any]]] = {}
    if start.port is not None:
        found = work.wire.call("listening", ports=[start.port])
    return found.get(str(start.port), [])


def _of_gpus(work: Work, start: Start) -> list[str]:
    """Holders of GPU memory: all but the unit itself where its journal speaks of memory, else only those of no unit."""
    found = work.wire.call("gpus")
    others = [one for one in found["processes"] if not start.is_own(one)]
    if not _FULL_GPU.search(start.journal):
        others = [one for one in others if is_orphan(one, start.unit)]
    return [*_full(found["gpus"] if others else ()), *(_memory(one, start.unit) for one in others)]


def _full(gpus: Iterable[Mapping[str, Any]]) -> list[str]:
    used = [f"{one['index']}: {one['memory_used_mib']} of {one['memory_total_mib']} MiB" for one in gpus]
    return [f"GPU memory in use: {', '.join(used)}"] if used else []


def _memory(one: Mapping[str, Any], unit: Unit) -> str:
    return f"{one['memory_used_mib']} MiB of GPU memory are held by {named(one, unit)}"


def is_orphan(holder: Mapping[str, Any], unit: Unit) -> bool:
    """A process no unit speaks for: handed to PID 1 in no unit, or left in this one's control group by an earlier start."""
    return holder["unit"] == unit.name or (holder["unit"] is None and holder["parent"] == 1)


def named(holder: Mapping[str, Any], unit: Unit) -> str:
    """A process that is in a unit's way, for people: pid, unit, command."""
    orphan = ", an orphan (its parent is PID 1)" if is_orphan(holder, unit) else ""
    command = one_line(holder["cmdline"], 160) or "(it shows no command line)"
    return f"pid {holder['pid']} of {holder['unit'] or 'no unit'}{orphan}: {command}"
