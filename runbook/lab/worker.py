"""A stand-in for an SGLang prefill or decode process: `python -m runbook.lab.worker --role decode --port 30002 …`.

It serves SGLang's HTTP paths, plays the model with DeepSeek's own encoder, tokenizer and parser, obeys the
environment it was started with, and on purpose has the bug this project was born from (`model/race.py`).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import signal
import sys
from typing import TYPE_CHECKING

from aiohttp import web

from runbook.lab.model.batch import EVENT_GAP_S, UNCAPTURED_COST, Batch, Pace
from runbook.lab.model.counters import Counters
from runbook.lab.model.endpoint import Endpoint
from runbook.lab.model.engine import ROLES, Engine, Serving
from runbook.lab.model.log import open_log
from runbook.lab.model.race import Race, never
from runbook.lab.model.switches import Switches, read_switches

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any

    from runbook.lab.model.sequence import Sequence as Running

DRAIN_S = 0.5
PACE_TOK_S = 300.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run a worker until SIGTERM or SIGINT; returns the exit status."""
    serving, start_delay_s = parse_arguments(argv)
    switches = read_switches(os.environ)
    log = open_log()
    if switches.retitle:
        retitle(f"sglang::{serving.role}")
    asyncio.run(serve(serving, switches, log, start_delay_s=start_delay_s))
    return 0


def parse_arguments(argv: Sequence[str] | None) -> tuple[Serving, float]:
    """The command line as values, and the start delay in seconds."""
    parser = argparse.ArgumentParser(prog="runbook.lab.worker", description=__doc__)
    parser.add_argument("--role", choices=ROLES, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--bootstrap-port", type=int, default=0, help="prefill listens here for decode")
    parser.add_argument("--served-model-name", default="deepseek-v4-flash")
    parser.add_argument("--model-path", default="")
    parser.add_argument("--pace-tok-s", type=float, default=PACE_TOK_S, help="tokens/s of one sequence alone")
    parser.add_argument(
        "--event-gap-ms",
        type=float,
        default=1000 * EVENT_GAP_S,
        help="tokens of a sequence share an event for so long; 0: one token an event",
    )
    parser.add_argument(
        "--start-delay-s", type=float, default=0.0, help="seconds of 503 after the port is open"
    )
    parser.add_argument(
        "--disable-cuda-graph", action="store_true", help="no race without capture, and slower"
    )
    found = vars(parser.parse_args(argv))
    delay = found.pop("start_delay_s")
    return Serving(**found), delay


async def serve(
    serving: Serving, switches: Switches, log: logging.Logger, *, start_delay_s: float = 0.0
) -> None:
    """Open the port, load the model, serve until a signal; then refuse health for a moment and leave."""
    engine = build(serving, switches)
    application = Endpoint(engine).application()
    runner = web.AppRunner(application, access_log=None, logger=log, shutdown_timeout=2 * DRAIN_S)
    await runner.setup()
    try:
        await web.TCPSite(runner, serving.host, serving.port, backlog=1024).start()
        log.info("%s on %s:%d with %s", serving.role, serving.host, serving.port, dict(switches.shown))
        await _until_signal(engine.run(start_delay_s + switches.start_delay_s), switches.crash_after_s)
        log.info("draining")
        engine.draining = True
        await _idle(engine.counters, DRAIN_S)
    finally:
        await engine.close()
        await runner.cleanup()


def build(serving: Serving, switches: Switches) -> Engine:
    """The engine with its batch, wired as command line and environment say."""
    counters = Counters()
    pace, strike = pace_of(serving, switches), strike_of(serving, switches)
    batch = Batch(pace, counters, strike, event_gap_s=serving.event_gap_ms / 1000)
    return Engine(serving, switches, batch, counters)


def pace_of(serving: Serving, switches: Switches) -> Pace:
    """How long steps take: overlap off and no graph capture both cost."""
    slow = switches.slow * (UNCAPTURED_COST if serving.disable_cuda_graph else 1.0)
    return Pace(serving.pace_tok_s, overlap=switches.overlap, slow=slow)


def strike_of(serving: Serving, switches: Switches) -> Callable[[list[Running]], None]:
    """The race, where the switches allow it and the decode graph is captured; else `never`."""
    if serving.disable_cuda_graph or not switches.races:
        return never
    return Race(random.Random(switches.seed)).strike


def retitle(title: str) -> None:
    """Rename the process as SGLang's schedulers do; this overwrites the environment that /proc shows."""
    from setproctitle import setproctitle

    setproctitle(title)


async def _until_signal(work: Coroutine[Any, Any, None], crash_after_s: float | None) -> None:
    """Do the work until SIGTERM or SIGINT; its own failure ends the wait too."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if crash_after_s is not None:
        loop.call_later(crash_after_s, _crash)
    tasks = (asyncio.create_task(work), asyncio.create_task(stopped.wait()))
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    if tasks[0] in done:
        tasks[0].result()


async def _idle(counters: Counters, seconds: float) -> None:
    """Wait until nothing runs, at most so many seconds."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while counters.running or counters.queued:
                await asyncio.sleep(0.01)


def _crash() -> None:
    sys.stderr.write("Scheduler hit an exception: CUDA error: an illegal memory access was encountered\n")
    sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
