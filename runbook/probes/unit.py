"""Is the unit up, and can it still come up? Every state systemd can report has one reading here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.probes import Sample

if TYPE_CHECKING:
    from collections.abc import Mapping


def judge(properties: Mapping[str, str]) -> Sample:
    """Read a unit's properties (systemctl show): up, on the way, or past hope (`final`)."""
    load, active = properties.get("LoadState", ""), properties.get("ActiveState", "")
    sub, result = properties.get("SubState", ""), properties.get("Result", "")
    seen = f"{active}/{sub}"
    if load in ("not-found", "masked", "error", "bad-setting"):
        return Sample(False, f"unit is {load}", final=True)
    if active == "failed":
        return Sample(
            False, f"unit failed ({result}, exit status {properties.get('ExecMainStatus', '?')})", final=True
        )
    if active == "active" and sub == "exited":
        return Sample(False, "unit is active/exited: its process is gone", final=True)
    if active in ("active", "reloading") and _pid(properties):
        return Sample(True, f"{seen}, MainPID {_pid(properties)}")
    if sub == "auto-restart":
        return Sample(
            False,
            f"unit crashed and is restarted by systemd ({result}, {properties.get('NRestarts')} times)",
            final=True,
        )
    if active == "inactive":
        return Sample(False, f"unit is {seen} ({result})", final=True)
    return Sample(False, seen)


def crashed(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """What shows that a unit did not run through from `before` to `now`, or None."""
    for name in ("MainPID", "NRestarts"):
        if before.get(name) != now.get(name):
            return f"{name} was {before.get(name)}, is {now.get(name)}"
    sample = judge(now)
    return None if sample.holds else sample.text


def _pid(properties: Mapping[str, str]) -> int:
    return int(properties.get("MainPID") or 0)
