"""The bench's figures beside those of a stand-in that keeps its own log.

Run: `python -m benchmarks.bench_accuracy [--requests 24] [--concurrency 4]`. Both processes stamp with one monotonic
clock. The log is computed by the definitions, not with the bench's code (`tests/load/bench/agreement.py`).
`benchmarks/cross_check.py` sets another bench client beside both.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tests.load.bench.agreement import Figure, figures, log_of, measured, stand_in
from tests.load.bench.standin import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Sequence

SCENARIOS_SHOWN = [name for name in SCENARIOS if name not in ("quick", "flood")]


def show(title: str, found: Sequence[Figure]) -> int:
    """Print the figures; returns how many are off."""
    sys.stdout.write(f"{title}\n")
    for figure in found:
        sys.stdout.write(f"  {figure}  {'' if figure.agrees() else 'OFF'}".rstrip() + "\n")
    return sum(not figure.agrees() for figure in found)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.bench_accuracy", description=__doc__)
    parser.add_argument("--requests", type=int, default=24)
    parser.add_argument("--concurrency", type=int, default=4)
    args = parser.parse_args()
    off = 0
    for name in SCENARIOS_SHOWN:
        with stand_in(name) as url:
            run = measured(url, concurrency=args.concurrency, requests=args.requests)
            found = figures(run.records, log_of(url))
        off += show(f"{name}: loop lag p99 {run.client.lag_p99_ms:.2f} ms", found)
    sys.stdout.write(f"{off} figures off by more than 1 % and 1 ms\n")
    return min(off, 1)


if __name__ == "__main__":
    sys.exit(main())
