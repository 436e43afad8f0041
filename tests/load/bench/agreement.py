"""What the bench measured beside what the stand-in's own log says, figure by figure.

The log's figures are computed here from the moments before each write, by the definitions and not with the bench's code.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import statistics
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.load.bench.metrics import latencies, repeat_figures
from runbook.load.bench.plan import Slot
from runbook.load.bench.prompts import prompts
from runbook.load.bench.settings import Settings
from runbook.load.bench.slotrun import run_slot
from runbook.load.bench.workload import Workload
from runbook.load.client import open_client

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runbook.load.bench.request import RequestRecord
    from runbook.load.bench.slotrun import SlotRun

ROOT = Path(__file__).resolve().parents[3]
TOLERANCE_MS = 1.0
TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: as measured and by the log; times in milliseconds, rates per second."""

    name: str
    measured: float
    logged: float

    def agrees(self, slack_ms: float = 0.0) -> bool:
        """Within 1 %, or for a time within 1 ms; the slack is added to a time, and per second to a rate."""
        off = abs(self.measured - self.logged)
        if self.name.endswith("ms"):
            return off <= max(TOLERANCE * self.logged, TOLERANCE_MS) + slack_ms
        return off <= (TOLERANCE + slack_ms / 1e3) * self.logged

    def __str__(self) -> str:
        off = self.measured - self.logged
        return f"{self.name:<14} measured {self.measured:10.3f}  log {self.logged:10.3f}  off {off:+8.3f}"


@contextlib.contextmanager
def stand_in(scenario: str) -> Iterator[str]:
    """The stand-in in a process of its own; its base URL."""
    command = [sys.executable, "-m", "tests.load.bench.standin", scenario]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait(timeout=10)


def measured(url: str, *, concurrency: int, requests: int, output_tokens: int = 40) -> SlotRun:
    """One closed-loop repeat against a stand-in."""

    async def run() -> SlotRun:
        settings = Settings(url, Workload("m", (concurrency,), 60, output_tokens))
        async with open_client(url, connections=8) as client:
            return await run_slot(client, settings, prompts("run", 60), Slot(concurrency, 0, requests, 1.0))

    return asyncio.run(run())


def log_of(url: str) -> list[dict[str, Any]]:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
        f"{url}/log", timeout=10
    ) as answer:
        return list(json.load(answer))


def figures(records: Sequence[RequestRecord], log: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Every figure twice."""
    shown, rates = latencies(records), repeat_figures(records)
    measured = {
        "TTFT p50 ms": shown.ttft_ms["p50"],
        "TTFT mean ms": shown.ttft_ms["mean"],
        "ITL mean ms": shown.itl_ms["mean"],
        "ITL p50 ms": shown.itl_ms["p50"],
        "ITL req. ms": shown.itl_request_ms["mean"],
        "TPOT p50 ms": shown.tpot_ms["p50"],
        "e2e p50 ms": shown.e2e_ms["p50"],
        "tok/s": rates.output_tok_s,
        "answered": float(sum(record.ok for record in records)),
    }
    return [Figure(name, measured[name], value) for name, value in logged(log).items()]


def way_ms(run: SlotRun, log: Sequence[Mapping[str, Any]]) -> float:
    """How long a request was under way to the stand-in, the larger of median and mean: no log of a server can hold that."""
    sent = sorted(record.sent + run.started for record in run.records)
    received = sorted(entry["received"] for entry in log)
    ways = [there - here for here, there in zip(sent, received, strict=True)]
    return float(max(statistics.median(ways), statistics.fmean(ways)) * 1e3)


def logged(log: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The figures by the log. Requests that were not answered whole are left out, as the bench must leave them out."""
    good = [entry for entry in log if entry["status"] == 200 and entry["end"] == "done"]
    stamps = [[at for at, events in entry["writes"] for _ in range(events)] for entry in good]
    gaps = [[b - a for a, b in itertools.pairwise(own)] for own in stamps]
    tpot = [(own[-1] - own[0]) / (entry["tokens"] - 1) for entry, own in zip(good, stamps, strict=True)]
    ttft = [own[0] - entry["received"] for entry, own in zip(good, stamps, strict=True)]
    e2e = [own[-1] - entry["received"] for entry, own in zip(good, stamps, strict=True)]
    span = max(entry["ended"] or entry["received"] for entry in log) - min(entry["received"] for entry in log)
    return {
        "TTFT p50 ms": statistics.median(ttft) * 1e3,
        "TTFT mean ms": statistics.fmean(ttft) * 1e3,
        "ITL mean ms": statistics.fmean(gap for own in gaps for gap in own) * 1e3,
        "ITL p50 ms": statistics.median(gap for own in gaps for gap in own) * 1e3,
        "ITL req. ms": statistics.fmean(map(statistics.fmean, gaps)) * 1e3,
        "TPOT p50 ms": statistics.median(tpot) * 1e3,
        "e2e p50 ms": statistics.median(e2e) * 1e3,
        "tok/s": sum(entry["tokens"] for entry in good) / span,
        "answered": float(len(good)),
    }
