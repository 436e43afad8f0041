"""Where one client process calls itself the limit, and how far several carry: events a second, CPU, the loop's lag.

Run: `python -m benchmarks.client_bound [--processes 1,2]`. A server in a process of its own writes one event to every open
stream at each tick of 20 ms, all streams at once, as a server that decodes in batches does. Printed for the bare wire
that the bench uses for http, by number of processes, and for httpx, which it uses for https. The summary has for each
the CPU of one event, the rate at which a process would use 80 % of its core by that, and the first rate at which the
client called itself the limit. Client, server and machine share the cores: with fewer cores than processes and the
server together, the lag is the machine's.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runbook.load.bench.clienthealth import HealthWatch
from runbook.load.bench.measure import closed_loop
from runbook.load.bench.metrics import latencies
from runbook.load.bench.parse import record
from runbook.load.bench.plan import Slot
from runbook.load.bench.processes import processes as client_processes
from runbook.load.bench.prompts import prompts
from runbook.load.bench.senders import httpx_sender
from runbook.load.bench.settings import Settings
from runbook.load.bench.slotrun import SlotRun, run_slot
from runbook.load.bench.workload import Workload
from runbook.load.client import open_client

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.load.bench.request import RawStream

ROOT = Path(__file__).resolve().parents[1]
TICK_S = 0.02
TOKENS = 200
STREAMS = (40, 80, 160, 320, 640)


class Ticker(asyncio.Protocol):
    """A stream of TOKENS events, one a tick; all streams of the server tick together."""

    def __init__(self, live: set[Ticker]) -> None:
        self._live = live
        self._left = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=1 << 22)

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"POST"):
            self._transport.write(HEAD)
            self._left = TOKENS
            self._live.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._live.discard(self)

    def tick(self) -> None:
        self._left -= 1
        self._transport.write(EVENT if self._left else EVENT + LAST)
        if not self._left:
            self._live.discard(self)


def _chunk(*documents: object) -> bytes:
    body = b"".join(b"data: " + json.dumps(document).encode() + b"\n\n" for document in documents)
    return b"%x\r\n%s\r\n" % (len(body), body)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
EVENT = _chunk(
    {"id": "x" * 32, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": " t"}}]}
)
LAST = (
    _chunk(
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]},
        {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": TOKENS}},
    )
    + b"0\r\n\r\n"
)


async def serve() -> None:
    live: set[Ticker] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Ticker(live), "127.0.0.1", 0, backlog=4096)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    closed = loop.run_in_executor(None, sys.stdin.read)
    due = loop.time()
    while not closed.done():
        due = max(due + TICK_S, loop.time())
        await asyncio.sleep(due - loop.time())
        for stream in tuple(live):
            stream.tick()


@contextlib.contextmanager
def server() -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.client_bound", "--serve"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


async def measured(url: str, streams: int, processes: int) -> SlotRun:
    settings = Settings(url, Workload("m", (streams,), 20, TOKENS), processes=processes)
    slot = Slot(streams, 0, streams, 1.0)
    async with open_client(url, connections=8) as client:
        with client_processes(processes) as pool:
            return await run_slot(client, settings, prompts("run", 20), slot, pool=pool)


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: `rate` in events a second, `share` of a core and `cost_us` an event over all processes, what it says."""

    streams: int
    rate: float
    share: float
    cost_us: float
    lag_ms: float
    gap_ms: float
    said: str

    @classmethod
    def of(cls, run: SlotRun, processes: int) -> Measured:
        answered = [record for record in run.records if record.ok]
        if not answered:
            raise SystemExit(f"{len(run.records)} streams: none answered, {run.records[0].failure}")
        span = max(record.ended for record in answered) - min(record.arrivals[0] for record in answered)
        rate = sum(len(record.arrivals) for record in answered) / span
        gap = latencies(answered).itl_request_ms["p50"]
        share = run.client.cpu_share
        cost_us = share * processes / rate * 1e6
        said = run.client.bound(gap).partition(",")[0]
        return cls(len(run.records), rate, share, cost_us, run.client.lag_p99_ms, gap, said)

    def __str__(self) -> str:
        load = f"{self.streams:>8}{self.rate:>12.0f}{self.share:>9.0%}{self.cost_us:>9.1f}"
        return f"{load}{self.lag_ms:>10.2f}{self.gap_ms:>9.1f}  {self.said or 'fine'}"


def summary(name: str, processes: int, runs: Sequence[Measured]) -> str:
    """What a sweep of streams says of the client; the cost of an event is that of the largest run."""
    cost_us = runs[-1].cost_us
    bound = next((run for run in runs if run.said), None)
    first = f"{bound.rate:.0f}/s ({bound.said.partition(':')[2].strip()})" if bound else "not reached"
    full = 0.8 * processes / cost_us * 1e6
    return f"{name:<8}{processes:>10}{cost_us:>14.1f}{full:>16.0f}   {first}"


async def over_httpx(url: str, streams: int) -> SlotRun:
    """The same over httpx."""
    body = Workload("m", (streams,), 20, TOKENS).body("hello")
    raws: list[RawStream] = []
    watch = HealthWatch(asyncio.get_running_loop())
    async with open_client(url, connections=streams) as client:
        send = httpx_sender(client, lambda index: body, deadline_s=60.0)
        with watch.watching():
            await closed_loop(send, raws, concurrency=streams, requests=streams)
    slot = Slot(streams, 0, streams, 1.0)
    return SlotRun(slot, tuple(record(raw) for raw in raws), watch.health())


def sweep(name: str, processes: int) -> list[Measured]:
    """More streams a run, until a process uses its core up."""
    say(f"\n{name}, {processes} {'process' if processes == 1 else 'processes'}")
    say(" streams    events/s      CPU us/event    lag p99   gap ms  the client says")
    runs: list[Measured] = []
    for streams in STREAMS:
        with server() as url:
            running = measured(url, streams, processes) if name == "wire" else over_httpx(url, streams)
            runs.append(Measured.of(asyncio.run(running), processes))
        say(str(runs[-1]))
        if runs[-1].share > 0.95:
            break
    return runs


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--processes", default="1,2", help="numbers of client processes, parted by commas")
    args = parser.parse_args()
    if args.serve:
        return asyncio.run(serve())
    numbers = [int(part) for part in args.processes.split(",")]
    say(
        f"{TICK_S * 1e3:.0f} ms between events of a stream, all streams at once, {TOKENS} events a stream; {os.cpu_count()} cores"
    )
    lines = [summary("wire", number, sweep("wire", number)) for number in numbers]
    lines.append(summary("httpx", 1, sweep("httpx", 1)))
    say("\nclient   processes  CPU us/event  80 % of cores/s   first called client-bound at")
    for line in lines:
        say(line)
    return None


if __name__ == "__main__":
    main()
