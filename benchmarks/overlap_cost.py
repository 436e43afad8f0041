"""What overlap off costs in the lab over concurrency: the ratio of output tok/s, off / on, with its interval.

    python -m benchmarks.overlap_cost [--budget 55] [--starts 2] [--repeats 3] [--concurrency 1,8,32,64,80] [--router]

Every start of the server is benched within the budget; starts go on, off, off, on, so that a drift of the machine falls on
both arms alike, and the repeats of an arm's starts are pooled. Four starts of 55 s take four minutes. The pace is below
the lab's own (300 tok/s for one sequence alone), so that two cores carry client and server and neither sets the rate.
The lab's timetable says what should come out: a step takes 1.04 of one with overlap, prefill takes the same.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import itertools
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.lab_race import ARMS, MODEL, Setting, served
from runbook.lab.model.batch import OVERLAP_OFF_COST
from runbook.load.bench import BenchResult, Level, compare, comparison_lines, result_lines
from runbook.load.bench.settings import Settings
from runbook.load.bench.sweep import run_bench
from runbook.load.bench.workload import Workload
from runbook.load.outcome import worst

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_REGRESSION = 0.08


@dataclass(frozen=True, slots=True)
class Sweep:
    """How every start is benched; `budget_s` seconds each."""

    concurrency: tuple[int, ...]
    output_tokens: int
    repeats: int
    budget_s: float
    max_lag: float


def main(argv: Sequence[str] | None = None) -> int:
    args = arguments(argv)
    lab = Setting(1, 0, 0, 0, args.pace_tok_s, args.router, args.seed)
    sweep = Sweep(args.concurrency, args.output_tokens, args.repeats, args.budget, args.client_lag)
    order = list(itertools.islice(itertools.cycle(("on", "off", "off", "on")), 2 * args.starts))
    say(
        f"starts {', '.join(order)}: {len(order)} × {args.budget:.0f} s of bench, pace {args.pace_tok_s:g} tok/s"
    )
    results = [(arm, benched(lab, arm, sweep)) for arm in order]
    on, off = (pooled([result for arm, result in results if arm == wanted]) for wanted in ("on", "off"))
    found = compare(on, off, max_regression=MAX_REGRESSION)
    say("\n".join(["", "overlap off (after) against on (before):", *comparison_lines(found)]))
    say(f"the lab's timetable: {1 / OVERLAP_OFF_COST:.3f} for decode alone, nearer 1 with prefill in it")
    return 0


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.overlap_cost", description=__doc__)
    parser.add_argument("--concurrency", type=levels, default=(1, 8, 32, 64, 80), help="1,8,32,64,80")
    parser.add_argument("--output-tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3, help="of every start")
    parser.add_argument("--starts", type=int, default=2, help="of each arm")
    parser.add_argument("--budget", type=float, default=55.0, help="seconds of bench a start")
    parser.add_argument("--pace-tok-s", type=float, default=100.0)
    parser.add_argument(
        "--client-lag", type=float, default=0.5, help="the client shares its cores with the server"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--router", action="store_true", help="through the real router, prefill and decode apart"
    )
    return parser.parse_args(argv)


def levels(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def benched(lab: Setting, arm: str, sweep: Sweep) -> BenchResult:
    """One start of the servers of an arm, benched."""
    with served(lab, ARMS[arm]) as url:
        workload = Workload(MODEL, sweep.concurrency, 350, sweep.output_tokens)
        settings = Settings(
            url, workload, repeats=sweep.repeats, budget_s=sweep.budget_s, max_lag=sweep.max_lag
        )
        result = asyncio.run(run_bench(settings, silent)).result
    say("\n".join(["", f"overlap {arm}:", *result_lines(result)]))
    return result


def pooled(results: Sequence[BenchResult]) -> BenchResult:
    """The starts of one arm as one result: the repeats of every level side by side, and all problems."""
    first = results[0]
    grouped = zip(*(result.levels for result in results), strict=True)
    return dataclasses.replace(
        first,
        levels=tuple(_pooled(group) for group in grouped),
        findings=tuple(finding for result in results for finding in result.findings),
        outcome=worst(result.outcome for result in results),
    )


def _pooled(group: Sequence[Level]) -> Level:
    return dataclasses.replace(
        group[0],
        output_tok_s=tuple(rate for level in group for rate in level.output_tok_s),
        requests=sum(level.requests for level in group),
        problems=tuple(dict.fromkeys(problem for level in group for problem in level.problems)),
    )


def silent(text: str, /, **fields: object) -> None:
    """The progress of a bench is not shown."""


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
