"""The engine behind a release: what files alone do not bring back, and so is recorded and compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook.ssh.row import asked, in_one, together
from runbook.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runbook.ssh.row import Asked
    from runbook.work import Work


@dataclass(frozen=True, slots=True)
class Engine:
    """What serves: of each unit what its processes run, and the GPUs as nvidia-smi has them."""

    units: Mapping[str, Mapping[str, Any]]
    gpus: Sequence[Mapping[str, Any]]

    @property
    def known(self) -> dict[str, Any]:
        """What a release keeps: `units`, those that are up; `driver`: NVIDIA's, None where there is none."""
        known = {name: found for name, found in self.units.items() if found["packages"] or found["checkout"]}
        return {"units": known, "driver": self.gpus[0]["driver"] if self.gpus else None}


def ask_ahead(work: Work) -> None:
    """Set the host to look while something else is asked of it: nvidia-smi takes its time."""
    work.wire.ask_ahead(in_one(*_row(work)))


def ask(work: Work) -> Engine:
    """One look at the processes and the GPUs, in one round trip."""
    units, gpus = together(work.wire, *_row(work))
    return Engine(units, gpus["gpus"])


def _row(work: Work) -> tuple[Asked, Asked]:
    return asked("engine", units=[unit.name for unit in work.host.units]), asked("gpus")


def look(work: Work) -> dict[str, Any]:
    """What a release keeps of the engine that serves now."""
    return ask(work).known


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two looks, as `unit: sglang 0.5.22, now 0.5.23`; what either does not know is no difference."""
    lines = [*_driver(before, now)]
    units, others = _table(before, "units"), _table(now, "units")
    for unit in units.keys() & others.keys():
        lines += [f"{unit}: {line}" for line in _differences(units[unit], others[unit])]
    return [one_line(line, 200) for line in sorted(lines)]


def _driver(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    was, is_ = before.get("driver"), now.get("driver")
    if was and is_ and was != is_:
        yield f"NVIDIA driver {was}, now {is_}"


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    was, is_ = _table(before, "packages"), _table(now, "packages")
    for name in was.keys() & is_.keys():
        if was[name] != is_[name]:
            yield f"{name} {was[name]}, now {is_[name]}"
    source, other = _table(before, "checkout"), _table(now, "checkout")
    if source and other and source.get("revision") != other.get("revision"):
        yield f"{source.get('path')} at {_short(source)}, now {_short(other)}"


def _short(checkout: Mapping[str, Any]) -> str:
    return str(checkout.get("revision"))[:12]


def _table(found: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = found.get(key)
    return table if isinstance(table, dict) else {}


def warnings(release_id: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What of the engine is another than when a release was current: its files alone do not bring that back."""
    lines = "; ".join(changed(before, now))
    told = (
        f"the engine is not what release {release_id} ran with, and files alone do not bring it back: {lines}"
    )
    return [told] if lines else []
