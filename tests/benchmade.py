"""Bench results as `python -m runbook.load bench` would print them for given arguments, on a host in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from runbook.load.bench.fingerprint import fingerprint
from runbook.load.bench.options import settings_from
from runbook.load.bench.result import BenchResult, Level
from runbook.load.outcome import Finding, Outcome
from runbook.model import Bench
from tests.fakehost import sessions_result

SPEC = Bench((1, 8), input_tokens=350, output_tokens=64, repeats=5, max_regression=0.10)
SPREAD = (1.0, 1.01, 0.99, 1.005, 0.995)


@dataclass
class Loads:
    """Plays the load generator: clean sessions, and benches at `speed` times the rate; `asked` keeps their arguments."""

    speed: float = 1.0
    server: dict[str, Any] = field(default_factory=lambda: {"version": None, "arguments": {}, "gpu": {}})
    problems: tuple[str, ...] = ()
    asked: list[list[str]] = field(default_factory=list)

    def __call__(self, argv: list[str]) -> dict[str, Any]:
        if "repro" in argv:
            return sessions_result(argv)
        words = argv[argv.index("bench") + 1 : argv.index("--jsonl")]
        self.asked.append(words)
        return result(words, self.speed, self.server, self.problems)


def result(
    words: list[str], speed: float, server: dict[str, Any], problems: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The result document of a bench with these arguments."""
    settings = settings_from(words, {})
    rates = tuple(100.0 * speed * spread for spread in SPREAD[: settings.repeats])
    levels = tuple(Level(n, rates, requests=10, problems=problems) for n in settings.workload.concurrencies)
    outcome = Outcome.INCONCLUSIVE if problems else Outcome.PASS
    found = tuple(Finding("bench", outcome, f"concurrency {level.concurrency}") for level in levels)
    return BenchResult(fingerprint(settings.workload, server), levels, found, outcome, wall_s=1.0).to_json()
