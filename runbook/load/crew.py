"""Several client processes that share the sessions, where one event loop is not enough.

Every process writes the same scripts from the same seed and plays its part of them. It tells over a pipe where it is,
and what its part came to; this end adds them up, and passes on that two hard findings are enough.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from runbook.load.bench.clienthealth import worst_of
from runbook.load.ending import ClientDiedError
from runbook.load.gauge import merged
from runbook.load.portion import Played, Portion, play_portion
from runbook.load.progress import Changes, text_of
from runbook.load.streams import joined
from runbook.load.swarm import ENOUGH, hard_sessions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from runbook.load.part import Part
    from runbook.load.saying import Say
    from runbook.load.swarm import Swarm

    Fields = Mapping[str, Any]

_START_S = 60.0
_TOGETHER_S = 0.5
"""For the processes to open their connections; then all send at one moment."""
_SUMMED = ("ended", "running", "in_flight", "corrupt", "hard", "chunks_per_s", "tokens_per_s")


async def play_together(portion: Portion, parts: Sequence[Part], say: Say) -> Played:
    """Run a portion's sessions in one process a part. Raises ClientDiedError."""
    # The processes end before the threads that hear them: a closed pipe wakes nobody who reads it, a dead peer does.
    with ThreadPoolExecutor(len(parts)) as hearing, _members(len(parts)) as pipes:
        try:
            played = await _conducted(portion, parts, pipes, hearing, say)
        except (EOFError, OSError):
            raise ClientDiedError("a client process ended before its sessions did") from None
    return _together(portion, played)


async def _conducted(
    portion: Portion,
    parts: Sequence[Part],
    pipes: Sequence[Connection],
    hearing: ThreadPoolExecutor,
    say: Say,
) -> list[Played]:
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(loop.run_in_executor(hearing, _ready, pipe) for pipe in pipes))
    begin = time.perf_counter() + _TOGETHER_S
    for pipe, part in zip(pipes, parts, strict=True):
        pipe.send(dataclasses.replace(portion, part=part, begin=begin, streams=_own(portion, part)))
    board = _Board(pipes, say, stops=portion.options.early_stop)
    return await asyncio.gather(*(board.hear(number, hearing) for number in range(len(pipes))))


def _own(portion: Portion, part: Part) -> Path | None:
    """Each process keeps streams in a file of its own; without a name they all find one."""
    return portion.streams and portion.streams.with_name(f"{portion.streams.name}.{part.index}")


def _together(portion: Portion, played: Sequence[Played]) -> Played:
    records = sorted((record for one in played for record in one.records), key=lambda record: record.ended)
    return Played(
        records=tuple(records),
        gauge=merged([one.gauge for one in played]),
        health=worst_of([one.health for one in played]),
        began=min(one.began for one in played),
        ended=max(one.ended for one in played),
        stopped=any(one.stopped for one in played),
        lost=next((one.lost for one in played if one.lost), ""),
        streams=joined([one.streams for one in played if one.streams], portion.streams),
    )


class _Board:
    """What the processes said last, and what follows from it."""

    def __init__(self, pipes: Sequence[Connection], say: Say, *, stops: bool) -> None:
        self._pipes, self._say, self._stops = pipes, say, stops
        self._last: dict[int, Fields] = {}
        self._hard: dict[int, int] = {}
        self._changes = Changes()
        self._stopped = False

    async def hear(self, number: int, hearing: ThreadPoolExecutor) -> Played:
        """Listen to one process until it says what its part came to."""
        loop = asyncio.get_running_loop()
        while True:
            said: Played | Fields = await loop.run_in_executor(hearing, self._pipes[number].recv)
            self._hard[number] = hard_sessions(said.records) if isinstance(said, Played) else said["hard"]
            if self._stops and sum(self._hard.values()) >= ENOUGH:
                self._stop()
            if isinstance(said, Played):
                return said
            self._last[number] = said
            if number == min(self._last):
                self._tell()

    def _tell(self) -> None:
        fields = summed(list(self._last.values()))
        self._say(text_of(fields), **{**fields, "changed": self._changes.new(fields, time.perf_counter())})

    def _stop(self) -> None:
        if self._stopped:
            return
        self._stopped = True
        for pipe in self._pipes:
            with contextlib.suppress(OSError):  # one that is done does not listen any more
                pipe.send("stop")


def summed(said: Sequence[Fields]) -> dict[str, Any]:
    """The figures of all processes as those of one run; the wave is the earliest that is still going on."""
    counts: Counter[str] = Counter()
    for fields in said:
        counts.update(fields["counts"])
    sums = {name: round(sum(fields[name] or 0 for fields in said), 1) for name in _SUMMED}
    uncounted = all(fields["tokens_per_s"] is None for fields in said)
    return {
        **said[0],
        **sums,
        "wave": min(fields["wave"] for fields in said),
        "counts": dict(counts.most_common()),
        "tokens_per_s": None if uncounted else sums["tokens_per_s"],
        "slowest_s": max(fields["slowest_s"] for fields in said),
    }


@contextlib.contextmanager
def _members(number: int) -> Iterator[list[Connection]]:
    """So many processes, and our ends of their pipes; none outlives the block."""
    context = multiprocessing.get_context("spawn")
    ends = [context.Pipe() for _ in range(number)]
    processes = [context.Process(target=member, args=(theirs,), daemon=True) for _, theirs in ends]
    try:
        for process, (_, theirs) in zip(processes, ends, strict=True):
            process.start()
            theirs.close()
        yield [ours for ours, _ in ends]
    finally:
        for process in processes:
            if process.pid is not None:
                process.terminate()
                process.join()
        for ours, _ in ends:
            ours.close()


def _ready(pipe: Connection) -> None:
    if not pipe.poll(_START_S):
        raise EOFError
    pipe.recv()


def member(pipe: Connection) -> None:
    """One process: says that it is up, plays what it is given, tells what came of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the other end's to answer
    pipe.send("ready")
    asyncio.run(_play(pipe, pipe.recv()))


async def _play(pipe: Connection, portion: Portion) -> None:
    def started(swarm: Swarm) -> None:
        loop = asyncio.get_running_loop()
        threading.Thread(target=_obey, args=(pipe, loop, swarm), daemon=True).start()

    def say(text: str, /, **fields: Any) -> None:
        pipe.send(fields)

    pipe.send(await play_portion(portion, say, started))


def _obey(pipe: Connection, loop: asyncio.AbstractEventLoop, swarm: Swarm) -> None:
    """Stop when told so; where nobody is at the other end any more, nobody wants the rest either."""
    try:
        pipe.recv()
    except (EOFError, OSError):
        os._exit(1)
    with contextlib.suppress(RuntimeError):  # the loop is closed: the sessions are over
        loop.call_soon_threadsafe(swarm.stop)
