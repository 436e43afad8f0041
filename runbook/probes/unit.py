"""Is the unit up, and can it still come up? Every state systemd can report has one reading here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runbook.probes import Sample
from runbook.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

_SPANS_S = {"d": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}


def judge(properties: Mapping[str, str]) -> Sample:
    """Read a unit's properties (systemctl show): up, on the way, or past hope (`final`)."""
    load, active = properties.get("LoadState", ""), properties.get("ActiveState", "")
    sub, result = properties.get("SubState", ""), properties.get("Result", "")
    seen = f"{active}/{sub}"
    if load in ("not-found", "masked", "error", "bad-setting"):
        return Sample(False, f"unit is {load}", final=True)
    if active in ("inactive", "failed") and _queued(properties):
        return Sample(False, f"{seen} ({result}), its start is queued")
    if active == "failed":
        return Sample(
            False, f"unit failed ({result}, exit status {properties.get('ExecMainStatus', '?')})", final=True
        )
    if active == "active" and sub == "exited":
        return Sample(False, "unit is active/exited: its process is gone", final=True)
    if active in ("active", "reloading") and _pid(properties):
        return Sample(True, f"{seen}, MainPID {_pid(properties)}")
    if sub.startswith("auto-restart"):  # newer systemd says auto-restart-queued for a moment
        return Sample(
            False,
            f"unit crashed and is restarted by systemd ({result}{_times(properties)})",
            final=True,
        )
    if active == "inactive":
        return Sample(False, f"unit is {seen} ({result})", final=True)
    return Sample(False, seen)


def stopping(properties: Mapping[str, str], waited_s: float) -> Sample | None:
    """A unit that is still on its way down, with how long it may take: `stopping 41 s of 90 s`; None where it is not."""
    if properties.get("ActiveState") != "deactivating":
        return None
    limit_s = span_s(properties.get("TimeoutStopUSec", ""))
    of = f" of {limit_s:.0f} s" if limit_s else ""
    return Sample(False, f"stopping {waited_s:.0f} s{of} ({properties.get('SubState')})")


def span_s(text: str) -> float | None:
    """Seconds of a time span as `systemctl show` prints it, `1min 30s`; None for `infinity` and what is none."""
    parts = [re.fullmatch(r"(\d+(?:\.\d+)?)(d|h|min|s|ms|us)", word) for word in text.split()]
    known = [float(part[1]) * _SPANS_S[part[2]] for part in parts if part]
    return sum(known) if known and len(known) == len(parts) else None


def crashed(before: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """What shows that a unit did not run through from `before` to `now`, or None; one that had no process yet may get one."""
    for name in ("MainPID", "NRestarts") if _pid(before) else ("NRestarts",):
        if before.get(name) != now.get(name):
            return f"{name} was {before.get(name)}, is {now.get(name)}"
    sample = judge(now)
    return None if sample.holds else sample.text


def _times(properties: Mapping[str, str]) -> str:
    """How often systemd restarted it so far; nothing before the first time."""
    number = int(properties.get("NRestarts") or 0)
    return f", {counted(number, 'time')}" if number else ""


def _queued(properties: Mapping[str, str]) -> bool:
    """Whether a unit that is down has a job: the start that follows a stop, at once or after the units it is ordered after."""
    return properties.get("Job", "") not in ("", "0")


def _pid(properties: Mapping[str, str]) -> int:
    return int(properties.get("MainPID") or 0)
