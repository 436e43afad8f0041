"""Percentiles, by linear interpolation between order statistics (numpy's default, and both known benches')."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SHOWN = (50, 90, 95, 99)


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The percentile of sorted values. Raises ValueError for none."""
    if not ordered:
        raise ValueError("no values, no percentile")
    position = (len(ordered) - 1) * percent / 100
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def summary_ms(seconds: Iterable[float]) -> dict[str, float]:
    """{"mean", "p50", "p90", "p95", "p99"} in milliseconds; empty for no values."""
    ordered = sorted(seconds)
    if not ordered:
        return {}
    shown = {f"p{percent}": round(percentile(ordered, percent) * 1e3, 3) for percent in SHOWN}
    return {"mean": round(sum(ordered) / len(ordered) * 1e3, 3), **shown}
