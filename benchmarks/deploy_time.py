"""How long a deploy of the lab takes, with 80×3, 60×4 and the bench, and where the time goes.

    .venv/bin/python benchmarks/deploy_time.py [--runs 3]

The first run brings the lab up in its before state; the ones after it have nothing to change and measure all the same.
Prints each run's wall time and the median share of every step.
"""

from __future__ import annotations

import argparse
import collections
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    invoke = [sys.executable, "-m", "runbook.program"]
    subprocess.run([*invoke, "lab.up", "--reset"], cwd=ROOT, check=True)
    steps: dict[str, list[float]] = collections.defaultdict(list)
    for number in range(1, runs + 1):
        started = time.perf_counter()
        done = subprocess.run(
            [*invoke, "deploy", "--host", "lab", "--json"], cwd=ROOT, capture_output=True, check=False
        )
        wall_s = time.perf_counter() - started
        document = json.loads(done.stdout)
        print(f"deploy {number}: {wall_s:.1f} s, exit {document['exit_code']}, {document['outcome']}")
        for step in document["steps"] if number > 1 else ():
            steps[step["name"]].append(step["duration_s"])
    for name, durations in sorted(steps.items(), key=lambda item: -statistics.median(item[1])):
        print(f"{statistics.median(durations):7.2f} s  {name}")


if __name__ == "__main__":
    main()
