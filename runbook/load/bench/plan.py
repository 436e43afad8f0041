"""How many requests each level gets, in which order, and how long it takes: decided before the load starts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.load.bench.warmup import wave_requests
from runbook.load.bench.workload import named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Slot:
    """One repeat of one level: `requests` to send, or for how long to send them; `expected_s` seconds."""

    concurrency: int
    repeat: int
    requests: int
    expected_s: float
    duration_s: float | None = None


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """The measured part in the order it runs, and the budget in seconds it was made for (None: none was stated)."""

    slots: tuple[Slot, ...]
    budget_s: float | None

    @property
    def expected_s(self) -> float:
        return sum(slot.expected_s for slot in self.slots)

    @property
    def fits(self) -> bool:
        return self.budget_s is None or self.expected_s <= self.budget_s * 1.05

    def lines(self) -> list[str]:
        """What is printed before the load starts."""
        sizes: dict[int, Slot] = {slot.concurrency: slot for slot in self.slots}
        last = max((slot.repeat for slot in self.slots), default=0)
        repeats = f"{last + 1} repeats, interleaved" if last else "one repeat"
        levels = ", ".join(f"{named(level)}: {_amount(slot)}" for level, slot in sorted(sizes.items()))
        budget = "no budget" if self.budget_s is None else f"{self.budget_s:.0f} s of the budget left"
        lines = [f"{repeats}; a repeat is {levels}; about {self.expected_s:.0f} s ({budget})"]
        if not self.fits:
            lines.append("the budget is too short: one wave of requests per level and repeat takes longer")
        return lines


def plan_by_budget(wave_s: Mapping[int, float], *, repeats: int, budget_s: float) -> BenchPlan:
    """Whole waves of requests for every level, each level and repeat the same share of the time.

    `wave_s` maps a concurrency to the seconds one wave of that many requests takes, as the warm-up saw it. At least
    one wave is sent, also where the budget is too short for it: `fits` then is false.
    """
    share_s = budget_s / (len(wave_s) * repeats)
    waves = {level: max(1, math.floor(share_s / seconds)) for level, seconds in wave_s.items()}
    return BenchPlan(
        tuple(
            Slot(level, repeat, waves[level] * level, waves[level] * wave_s[level])
            for level, repeat in interleaved(tuple(wave_s), repeats)
        ),
        budget_s,
    )


def plan_by_number(
    wave_s: Mapping[int, float], *, repeats: int, requests: int | None, request_rate: float | None = None
) -> BenchPlan:
    """`requests` for every level and repeat, whatever it takes; None: two waves of every level."""
    wanted = {level: requests or 2 * wave_requests(level) for level in wave_s}
    slots = tuple(
        Slot(level, repeat, wanted[level], _expected_s(level, wave_s[level], wanted[level], request_rate))
        for level, repeat in interleaved(tuple(wave_s), repeats)
    )
    return BenchPlan(slots, None)


def plan_by_duration(wave_s: Mapping[int, float], *, repeats: int, duration_s: float) -> BenchPlan:
    """Every level and repeat sends for `duration_s` and then lets what is in flight end."""
    slots = tuple(
        Slot(level, repeat, 0, duration_s + wave_s[level], duration_s)
        for level, repeat in interleaved(tuple(wave_s), repeats)
    )
    return BenchPlan(slots, None)


def interleaved(levels: Sequence[int], repeats: int) -> list[tuple[int, int]]:
    """Every level once, then again: up, down, up …, so that a drift of the server loads no level by itself."""
    return [
        (level, repeat)
        for repeat in range(repeats)
        for level in (levels if repeat % 2 == 0 else levels[::-1])
    ]


def _expected_s(level: int, wave_s: float, requests: int, request_rate: float | None) -> float:
    waves = wave_s * math.ceil(requests / level) if level else wave_s
    return waves if request_rate is None else max(waves, requests / request_rate + wave_s)


def _amount(slot: Slot) -> str:
    return f"{slot.requests} requests" if slot.duration_s is None else f"{slot.duration_s:g} s"
