"""The closed loop: all sessions of a wave in flight from one barrier, wave after wave, until the plan or a stop."""

from __future__ import annotations

import asyncio
import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from runbook.load.ask import answer_of
from runbook.load.defects import Severity
from runbook.load.gauge import Gauge
from runbook.load.judgement import Judgement, judge_turn
from runbook.load.nonces import Registry
from runbook.load.part import WHOLE, Part
from runbook.load.prompts import TOOLS
from runbook.load.script import write_scripts
from runbook.load.session import play
from runbook.load.story import Record, Story
from runbook.load.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runbook.load.ask import Asker
    from runbook.load.exchange import Answer, Turn
    from runbook.load.options import Options
    from runbook.load.prompts import Message
    from runbook.load.script import Script
    from runbook.load.streams import StreamFile

T = TypeVar("T")

ENOUGH = 2
"""Sessions with a hard finding after which the rest of a run can change nothing."""


def waves_of_scripts(options: Options, registry: Registry) -> Iterator[list[Script]]:
    """Scripts of wave after wave, without end; sessions are numbered through. The same for the same seed."""
    start, count = 0, counter(options.tokenizer)
    while True:
        registry.next_wave()
        yield write_scripts(options.shape, range(start, start + options.sessions), registry, count)
        start += options.sessions


def hard_sessions(records: Sequence[Record]) -> int:
    """How many of them have a hard finding."""
    return sum(
        record.corrupt and any(seen.defect.severity is Severity.HARD for seen in record.seen)
        for record in records
    )


class Swarm:
    """A run in progress: what progress and the result are read from."""

    def __init__(self, options: Options, asker: Asker, streams: StreamFile, part: Part = WHOLE) -> None:
        self.options = options
        self._part = part
        self._tasks: list[asyncio.Future[tuple[Record, Story]]] = []
        self.gauge = Gauge()
        self.registry = Registry(random.Random(options.seed))
        self.records: list[Record] = []
        self.hard = 0
        """Sessions with a hard finding so far."""
        self.live: dict[int, Story] = {}
        self.began = time.perf_counter()
        self.stopped = False
        self.wave = 0
        self._asker = asker
        self._streams = streams
        self._aborts = random.Random(options.seed + 1)
        # One thread: parsing and judging must not hold up the reading of other streams.
        self._aside_of_loop = ThreadPoolExecutor(1, thread_name_prefix="judge")

    async def run(self) -> Sequence[Record]:
        """Every wave; returns all records, those of stopped sessions too."""
        with self._aside_of_loop:
            for wave, scripts in enumerate(waves_of_scripts(self.options, self.registry)):
                self.wave = wave
                await self._wave(wave, self._part.mine(scripts))
                over = time.perf_counter() - self.began >= self.options.soak_s
                if self.stopped or (wave + 1 >= self.options.waves and over):
                    break
        return self.records

    async def _wave(self, wave: int, scripts: Sequence[Script]) -> None:
        slots = asyncio.Semaphore(self._part.slots(self.options.at_once))
        tasks = self._tasks = [
            asyncio.ensure_future(self._session(script, wave, slots)) for script in scripts
        ]
        try:
            for ended in asyncio.as_completed(tasks):
                record, story = await ended
                self.records.append(record)
                self.hard += hard_sessions([record])
                await self._keep(record, story)
                if self._enough() and not self.stopped:
                    self.stop()
        finally:
            for task in tasks:
                task.cancel()

    def stop(self) -> None:
        """End every session that still runs; those that finished stay."""
        self.stopped = True
        for task in self._tasks:
            task.cancel()

    async def _keep(self, record: Record, story: Story) -> None:
        """The raw streams of a session that was not clean."""
        if not record.clean and record.end != "cancelled":
            await self._aside(lambda: self._streams.keep(record.session, record.wave, story.spool))
        story.spool.close()

    async def _session(self, script: Script, wave: int, slots: asyncio.Semaphore) -> tuple[Record, Story]:
        story = Story(script.session, wave)
        try:
            async with slots:
                record = await self._play(script, story)
        except asyncio.CancelledError:
            if not self.stopped:
                raise
            record = story.ended("cancelled", corrupt=False, detail="stopped early")
        finally:
            self.live.pop(script.session, None)
        return record, story

    async def _play(self, script: Script, story: Story) -> Record:
        story.began = time.perf_counter()
        self.live[script.session] = story
        deadline = story.began + self.options.timeout_s

        async def asked(messages: Sequence[Message]) -> Answer:
            body = self.options.body(messages, TOOLS)
            if self._aborts.random() < self.options.aborts:
                dropping = time.perf_counter()
                await self._asker.ask_and_drop(body, self._aborts.randrange(1, 40))
                story.served_s += time.perf_counter() - dropping
            asked_at = time.perf_counter()
            raw = await self._asker.ask(body, deadline - asked_at, self.gauge)
            story.served_s += (raw.ended or time.perf_counter()) - asked_at
            return await self._aside(lambda: answer_of(raw))

        return await play(script, story, asked, self._judge)

    async def _judge(self, script: Script, turn: Turn, answer: Answer) -> Judgement:
        limit = self.options.limit
        return await self._aside(lambda: judge_turn(script, turn, answer, self.registry, max_tokens=limit))

    async def _aside(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._aside_of_loop, work)

    def _enough(self) -> bool:
        return self.options.early_stop and self.hard >= ENOUGH
