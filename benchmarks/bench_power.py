"""How often the bench's comparison is wrong, and how often it sees a true loss: 1,000 simulated comparisons a line.

Run: `python -m benchmarks.bench_power [--runs 1000]`. Rates are log-normal with 2 % within an arm; a start of the server
shifts the whole arm (one draw for all concurrencies) or every concurrency by itself. There are five concurrencies, and
each side's bounds hold with 95 % over all of them. The last table is what a percentile bootstrap would do instead.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from dataclasses import dataclass

from runbook.load.bench import BenchResult, Level, compare
from runbook.load.outcome import Outcome

CONCURRENCIES = (1, 8, 32, 64, 80)
CV = 0.02


@dataclass(frozen=True)
class Setting:
    repeats: int
    start_cv: float
    shared: bool
    loss: float

    @property
    def start(self) -> str:
        return (
            "none" if not self.start_cv else f"{self.start_cv:.1%} {'an arm' if self.shared else 'a level'}"
        )


def arm(chance: random.Random, setting: Setting, factor: float) -> BenchResult:
    """One simulated bench."""
    common = chance.gauss(0, setting.start_cv)
    levels = []
    for concurrency in CONCURRENCIES:
        start = common if setting.shared else chance.gauss(0, setting.start_cv)
        rates = [100 * factor * math.exp(start + chance.gauss(0, CV)) for _ in range(setting.repeats)]
        levels.append(Level(concurrency, tuple(rates), requests=1))
    return BenchResult({"concurrency": list(CONCURRENCIES)}, tuple(levels), (), Outcome.PASS, wall_s=1.0)


def simulate(setting: Setting, runs: int) -> str:
    """One line: how often the gate fires and what the intervals exclude."""
    chance = random.Random(f"{setting}")
    strict = each = gate = 0
    for _ in range(runs):
        before, now = arm(chance, setting, 1.0), arm(chance, setting, 1 - setting.loss)
        rows = compare(before, now, max_regression=0.0).rows
        strict += any(row.verdict == "regression" for row in rows)
        each += sum(row.slower for row in rows)
        gate += any(row.high is not None and row.high < 0.9 for row in rows)  # compare()'s own rule at 10 %
    shares = (strict / runs, gate / runs, each / runs / len(CONCURRENCIES))
    cells = "".join(f"{share:>12.1%}" for share in shares)
    return f"{setting.repeats:>7} {setting.loss:>5.0%}  {setting.start:<14}{cells}"


def bootstrap_excludes(chance: random.Random, before: list[float], now: list[float], level: float) -> bool:
    """Whether a percentile bootstrap of the ratio of medians excludes 1."""
    draws = sorted(
        statistics.median(chance.choices(now, k=len(now)))
        / statistics.median(chance.choices(before, k=len(before)))
        for _ in range(1000)
    )
    low, high = (draws[round(share * (len(draws) - 1))] for share in ((1 - level) / 2, (1 + level) / 2))
    return not low <= 1 <= high


def bootstrap_line(repeats: int, runs: int) -> str:
    chance, wrong = random.Random(repeats), 0
    each = 0.95 ** (1 / len(CONCURRENCIES))
    for _ in range(runs):
        arms = [[math.exp(chance.gauss(0, CV)) for _ in range(2 * repeats)] for _ in CONCURRENCIES]
        wrong += any(bootstrap_excludes(chance, both[:repeats], both[repeats:], each) for both in arms)
    return f"{repeats:>7}    0%  none                                {wrong / runs:>12.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    say = sys.stdout.write
    say(f"{runs} comparisons a line over {len(CONCURRENCIES)} concurrencies, CV {CV:.0%} within an arm\n")
    say(
        "gate: comparisons with a regression at that limit; each: intervals wholly below 1, of a level by itself\n"
    )
    say("repeats  loss  start          gate 0%    gate 10%        each\n")
    for loss in (0.0, 0.10):
        for repeats in (3, 4, 5, 10):
            for start_cv, shared in ((0.0, True), (0.015, True), (0.015, False)):
                say(simulate(Setting(repeats, start_cv, shared, loss), runs) + "\n")
    say("\npercentile bootstrap of the ratio of medians instead, equal servers, no start variation\n")
    for repeats in (3, 5, 10):
        say(bootstrap_line(repeats, max(100, runs // 10)) + "\n")


if __name__ == "__main__":
    main()
