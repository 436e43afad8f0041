"""How long a rollout will take, by how long its steps took on this host before: said before the operator says yes."""

from __future__ import annotations

import collections
import math
import statistics
from typing import TYPE_CHECKING, Any, NamedTuple

from runbook.errors import LinkLostError, RunbookError
from runbook.stages import records
from runbook.text import one_line
from runbook.verify import baselines, loading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runbook.model import Host, Observation
    from runbook.plan import Plan
    from runbook.work import Work

MOST_NAMES = 3  # in one sentence
LOOKED_AT = 5  # of a step's durations, the youngest
_ALIKE = {"bench before": "bench"}  # one load, where it never ran under the first name


class Expected(NamedTuple):
    """`seconds` of the steps that were taken here before, and the names of those that never were."""

    seconds: float
    new: tuple[str, ...]

    def __str__(self) -> str:
        if not self.seconds:
            return f"how long this takes is not known: {_named(self.new)} never ran to its end on this host"
        rest = f", plus the time of what never ran here before: {_named(self.new)}" if self.new else ""
        return one_line(f"this should take about {_told(self.seconds)}, by the last rollouts here{rest}", 300)


def tell(work: Work, seen: Observation, plan: Plan, *, load: bool) -> None:
    """Say how long a plan will take to a person who is asked whether to begin; that it is not known stops nobody."""
    try:
        steps = of_plan(work.host, plan, seen if load else None)
        if steps:
            work.run.note(str(of(steps, records.youngest_first(work))))
    except LinkLostError:
        raise
    except RunbookError as error:
        work.run.note(f"how long this takes is not known: {error}")


def of_plan(host: Host, plan: Plan, loaded: Observation | None = None) -> tuple[str, ...]:
    """The steps in which a plan spends its time, by name; `loaded` is the look at a host that will be put under load."""
    proof = _load(host) if loaded else ()
    if plan.empty and not proof:
        return ()
    before = ("bench before",) if loaded and baselines.foreseen(host, loaded, plan) else ()
    restarts = (f"restart {item.role}" for item in plan.restarts)
    return (*before, *restarts, *(f"health {unit.role}" for unit in host.units), "ready", *proof)


def _load(host: Host) -> tuple[str, ...]:
    validations = tuple(f"validate {spec.name}" for spec in host.validations)
    if host.bench is None:
        return validations
    short = loading.again(host.validations)
    return (*validations, "bench", *([f"validate {short.name}"] if short else []))


def of(steps: Iterable[str], youngest_first: Iterable[Mapping[str, Any]]) -> Expected:
    """The median of each step's last durations, added up; `youngest_first` are audit records."""
    known = [_durations(record) for record in youngest_first]
    seconds, new = 0.0, []
    for name in steps:
        lasted = _lasted(name, known) or _lasted(_ALIKE.get(name, ""), known)
        if lasted:
            seconds += statistics.median(lasted)
        else:
            new.append(name)
    return Expected(seconds, tuple(new))


def _lasted(name: str, known: Iterable[Mapping[str, float]]) -> list[float]:
    return [found[name] for found in known if name in found][:LOOKED_AT]


def _durations(record: Mapping[str, Any]) -> dict[str, float]:
    """Seconds of each step that passed. A record is what some program wrote: what is no step of ours is none."""
    steps = record.get("steps")
    return dict(_passed(steps)) if isinstance(steps, list) else {}


def _passed(steps: Sequence[Any]) -> Iterator[tuple[str, float]]:
    for step in steps:
        if not isinstance(step, dict) or step.get("outcome") != "pass":
            continue
        name, lasted = step.get("name"), step.get("duration_s")
        if isinstance(name, str) and isinstance(lasted, int | float) and 0 <= lasted < math.inf:
            yield name, float(lasted)


def _named(steps: Sequence[str]) -> str:
    """A few steps by their names, more of them by their kinds: `3 × restart, 3 × health, ready`."""
    if len(steps) <= MOST_NAMES:
        return ", ".join(steps)
    kinds = collections.Counter(step.partition(" ")[0] for step in steps)
    return ", ".join(f"{times} × {kind}" if times > 1 else kind for kind, times in kinds.items())


def _told(seconds: float) -> str:
    """`51 s`, `12 min`, `1 h 20 min`."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
