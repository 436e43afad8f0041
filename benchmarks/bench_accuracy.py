"""The bench's figures beside those of a stand-in that keeps its own log, and beside what another bench client prints.

Run: `python -m benchmarks.bench_accuracy [--requests 24] [--concurrency 4]`. Both processes stamp with one monotonic
clock. The log is computed by the definitions, not with the bench's code (`tests/load/bench/agreement.py`).

With `--aiperf PATH --tokenizer DIR` (NVIDIA's AIPerf, `pip install aiperf` into an environment of its own, and a folder
with a tokenizer.json) AIPerf loads the same stand-in with the same shape, and its figures are printed beside the log's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.load.bench.agreement import Figure, figures, log_of, logged, measured, stand_in
from tests.load.bench.standin import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Sequence

SCENARIOS_SHOWN = [name for name in SCENARIOS if name not in ("quick", "flood")]
INPUT_TOKENS, OUTPUT_TOKENS = 60, 40


def show(title: str, found: Sequence[Figure]) -> int:
    """Print the figures; returns how many are off."""
    sys.stdout.write(f"{title}\n")
    for figure in found:
        sys.stdout.write(f"  {figure}  {'' if figure.agrees() else 'OFF'}".rstrip() + "\n")
    return sum(not figure.agrees() for figure in found)


def aiperf_figures(program: str, tokenizer: str, requests: int, concurrency: int) -> list[Figure]:
    """AIPerf's figures for the plain scenario beside the log's; those it shares with ours."""
    with stand_in("plain") as url, tempfile.TemporaryDirectory() as folder:
        command = [
            program, "profile", "-m", "m", "--tokenizer", tokenizer, "--endpoint-type", "chat", "--streaming",
            "--url", url, "--concurrency", str(concurrency), "--request-count", str(requests),
            "--synthetic-input-tokens-mean", str(INPUT_TOKENS), "--synthetic-input-tokens-stddev", "0",
            "--output-tokens-mean", str(OUTPUT_TOKENS), "--output-tokens-stddev", "0",
            "--extra-inputs", f"max_tokens:{OUTPUT_TOKENS}", "--use-server-token-count", "--ui", "none",
            "--no-gpu-telemetry", "--no-server-metrics", "--output-artifact-dir", folder,
        ]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
        found: dict[str, Any] = json.loads((Path(folder) / "profile_export_aiperf.json").read_text())
        truth = logged(log_of(url))
    return [
        Figure("TTFT p50 ms", found["time_to_first_token"]["p50"], truth["TTFT p50 ms"]),
        Figure("TTFT mean ms", found["time_to_first_token"]["avg"], truth["TTFT mean ms"]),
        Figure("TPOT p50 ms", found["inter_token_latency"]["p50"], truth["TPOT p50 ms"]),
        Figure("tok/s", found["output_token_throughput"]["avg"], truth["tok/s"]),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=24)
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--aiperf", default=None, metavar="PATH", help="the aiperf program")
    parser.add_argument("--tokenizer", default=None, metavar="DIR", help="for aiperf")
    args = parser.parse_args()
    off = 0
    for name in SCENARIOS_SHOWN if args.aiperf is None else ("plain",):
        with stand_in(name) as url:
            run = measured(url, concurrency=args.concurrency, requests=args.requests)
            found = figures(run.records, log_of(url))
        off += show(f"{name}: loop lag p99 {run.client.lag_p99_ms:.2f} ms", found)
    sys.stdout.write(f"{off} figures off by more than 1 % and 1 ms\n")
    if args.aiperf:
        theirs = aiperf_figures(args.aiperf, args.tokenizer, args.requests, args.concurrency)
        show("aiperf on the same scenario (its inter token latency is our TPOT)", theirs)
    return min(off, 1)


if __name__ == "__main__":
    sys.exit(main())
