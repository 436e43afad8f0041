"""The bench's figures beside those of a stand-in that keeps its own log, and what another bench client prints.

Run: `python -m benchmarks.bench_accuracy [--requests 24] [--concurrency 4]`. Both processes stamp with one monotonic
clock. The log is computed by the definitions, not with the bench's code (`tests/load/bench/agreement.py`).
"""

from __future__ import annotations

import argparse
import sys

from tests.load.bench.agreement import figures, log_of, measured, stand_in
from tests.load.bench.standin import SCENARIOS

SCENARIOS_SHOWN = [name for name in SCENARIOS if name not in ("quick", "flood")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=24)
    parser.add_argument("--concurrency", type=int, default=4)
    args = parser.parse_args()
    off = 0
    for name in SCENARIOS_SHOWN:
        with stand_in(name) as url:
            run = measured(url, concurrency=args.concurrency, requests=args.requests)
            found = figures(run.records, log_of(url))
        sys.stdout.write(f"{name}: loop lag p99 {run.client.lag_p99_ms:.2f} ms\n")
        for figure in found:
            off += not figure.agrees()
            sys.stdout.write(f"  {figure}  {'' if figure.agrees() else 'OFF'}\n")
    sys.stdout.write(f"{off} figures off by more than 1 % and 1 ms\n")
    return min(off, 1)


if __name__ == "__main__":
    sys.exit(main())
