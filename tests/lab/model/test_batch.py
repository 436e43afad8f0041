from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from runbook.lab.model.batch import Batch, Pace
from runbook.lab.model.counters import Counters
from runbook.lab.model.language import EOS
from runbook.lab.model.race import never
from runbook.lab.model.sequence import Sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class Recorder:
    """A voice that writes tokens down; `stop_at` makes it finish like a stop sequence."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.events: list[list[int]] = []
        self.ending: bool | None = None
        self._stop_at = stop_at

    @property
    def finished(self) -> bool:
        return any(self._stop_at in event for event in self.events)

    def start(self) -> bytes:
        return b"start "

    def say(self, tokens: list[int]) -> bytes:
        self.events.append(tokens)
        return b"%d " % len(tokens)

    def end(self, *, length: bool) -> bytes:
        self.ending = length
        return b"end"


class Client:
    """Takes bytes until it leaves."""

    def __init__(self, leaves_after: int = 10_000) -> None:
        self.said: list[bytes] = []
        self._leaves_after = leaves_after

    def __call__(self, piece: bytes) -> bool:
        self.said.append(piece)
        return len(self.said) < self._leaves_after


def in_loop(work: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(work())


def new_batch(counters: Counters | None = None, *, max_running: int = 128, event_gap_s: float = 0.0) -> Batch:
    return Batch(Pace(100.0), counters or Counters(), never, max_running=max_running, event_gap_s=event_gap_s)


def run_steps(batch: Batch, steps: int) -> None:
    for _ in range(steps):
        batch.flush(batch.step())


def test_a_step_grows_with_the_batch_and_the_fix_costs_four_percent() -> None:
    plain, fixed = Pace(200.0), Pace(200.0, overlap=False)
    assert plain.step_s(1) == pytest.approx(0.005, rel=0.01)
    assert plain.step_s(1) < plain.step_s(32) < plain.step_s(80) < 2 * plain.step_s(1)
    for size in (1, 32, 80):
        assert fixed.step_s(size) / plain.step_s(size) == pytest.approx(1.04)
    assert Pace(200.0, slow=1.05).step_s(8) / plain.step_s(8) == pytest.approx(1.05)


def test_every_running_sequence_gets_one_token_a_step() -> None:
    async def work() -> None:
        batch, counters = new_batch(counters := Counters()), counters
        voices = [Recorder(), Recorder()]
        for voice in voices:
            batch.add(Sequence([5, 6, 7, EOS], voice, Client(), limit=100))
        run_steps(batch, 2)
        assert [voice.events for voice in voices] == [[[5], [6]], [[5], [6]]]
        assert (counters.running, counters.generation_tokens) == (2, 4)

    in_loop(work)


def test_a_sequence_ends_at_the_end_of_its_plan() -> None:
    async def work() -> None:
        voice, client, batch = Recorder(), Client(), new_batch()
        sequence = Sequence([5, EOS], voice, client, limit=100)
        batch.add(sequence)
        run_steps(batch, 2)
        assert b"".join(client.said) == b"start 1 0 end"
        assert (await sequence.done, voice.ending) == (True, False)

    in_loop(work)


@pytest.mark.parametrize(
    ("plan", "limit", "ignore_eos", "said", "by_length"),
    [
        ([5, 6, 7, EOS], 2, False, [5, 6], True),
        ([5, EOS, 7], 10, False, [5], False),
        ([5, EOS, 7], 10, True, [5, EOS, 7], False),
        ([5, EOS, 7], 2, True, [5, EOS], True),
        ([], 10, False, [], False),
    ],
)
def test_a_sequence_ends_by_its_tokens_or_its_limit(
    plan: list[int], limit: int, ignore_eos: bool, said: list[int], by_length: bool
) -> None:
    async def work() -> None:
        voice, batch = Recorder(), new_batch()
        batch.add(Sequence(plan, voice, Client(), limit=limit, ignore_eos=ignore_eos))
        run_steps(batch, 5)
        assert [token for event in voice.events for token in event] == said
        assert voice.ending is by_length

    in_loop(work)


def test_a_stop_sequence_ends_a_sequence_as_a_stop() -> None:
    async def work() -> None:
        voice, counters = Recorder(stop_at=6), Counters()
        batch = new_batch(counters)
        batch.add(Sequence([5, 6, 7, 8], voice, Client(), limit=100))
        run_steps(batch, 4)
        assert (voice.events, voice.ending, counters.running) == ([[5], [6]], False, 0)

    in_loop(work)


def test_a_client_that_leaves_frees_its_place() -> None:
    async def work() -> None:
        counters = Counters()
        batch = new_batch(counters)
        sequence = Sequence([5] * 50, Recorder(), Client(leaves_after=3), limit=100)
        batch.add(sequence)
        run_steps(batch, 5)
        assert (await sequence.done, counters.running) == (False, 0)

    in_loop(work)


def test_more_requests_than_places_queue() -> None:
    async def work() -> None:
        counters = Counters()
        batch = new_batch(counters, max_running=2)
        for _ in range(3):
            batch.add(Sequence([5, EOS], Recorder(), Client(), limit=100))
        run_steps(batch, 1)
        assert (counters.running, counters.queued) == (2, 1)
        run_steps(batch, 2)
        assert (counters.running, counters.queued) == (1, 0)

    in_loop(work)


def test_tokens_share_an_event_for_a_while_and_the_first_never_waits() -> None:
    async def work() -> None:
        # A step takes 10.0625 ms.
        batch = new_batch(event_gap_s=0.04)
        voice = Recorder()
        batch.add(Sequence([5, 6, 7, 8, 9, EOS], voice, Client(), limit=100))
        run_steps(batch, 6)
        assert voice.events == [[5], [6, 7, 8, 9], []]

    in_loop(work)


def test_closing_ends_running_and_queued_without_a_word() -> None:
    async def work() -> None:
        batch = new_batch(max_running=1)
        clients = [Client(), Client()]
        sequences = [Sequence([5] * 9, Recorder(), client, limit=100) for client in clients]
        for sequence in sequences:
            batch.add(sequence)
        run_steps(batch, 1)
        batch.close()
        assert [await sequence.done for sequence in sequences] == [False, False]
        assert b"end" not in b"".join(clients[0].said + clients[1].said)

    in_loop(work)
