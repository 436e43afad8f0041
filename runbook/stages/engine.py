"""The engine behind a release: what files alone do not bring back, and so is recorded and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runbook.work import Work


def look(work: Work, gpus: Sequence[Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """`units`: what each unit's processes run, those that are up; `driver`: NVIDIA's, None where there is none.

    `gpus` are the host's where they have been asked for already: nvidia-smi takes its time.
    """
    units = work.wire.call("engine", units=[unit.name for unit in work.host.units])
    gpus = work.wire.call("gpus")["gpus"] if gpus is None else gpus
    known = {name: found for name, found in units.items() if found["packages"] or found["checkout"]}
    return {"units": known, "driver": gpus[0]["driver"] if gpus else None}


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
    told = f"the engine is not what release {release_id} ran with, and files alone do not bring it back: {lines}"
    return [told] if lines else []
