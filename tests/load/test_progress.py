"""What a run says of itself: every figure once a second, a line in a log when something changed."""

from __future__ import annotations

import asyncio
import datetime
import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runbook.events import Progress
from runbook.load.progress import QUIET_S, Changes, snapshot, text_of
from runbook.load.saying import teller
from runbook.load.story import Story
from runbook.plain import Plain
from tests.faultserver.server import Behaviour, FaultServer
from tests.load.records import record
from tests.load.test_run import OPTIONS, validated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.load.story import Record

FIELDS = {
    "ended": 12,
    "sessions": 80,
    "wave": 1,
    "counts": {"maxrounds": 12},
    "chunks_per_s": 1234.5,
    "tokens_per_s": 4567.8,
    "slowest_s": 3.21,
}


class FakeGauge:
    """Reads and requests, as a Gauge counts them."""

    in_flight = 3
    finished_reads = 500


class FakeSwarm:
    """A run in its second wave."""

    def __init__(self, records: Sequence[Record], live: Sequence[Story]) -> None:
        self.options, self.gauge, self.wave = replace(OPTIONS, sessions=80), FakeGauge(), 1
        self.hard = 0
        self.records, self.live = list(records), {story.session: story for story in live}


def live(session: int, began: float, tokens: int) -> Story:
    story = Story(session, 1)
    story.began, story.tokens = began, tokens
    story.spool.close()
    return story


def taken(records: Sequence[Record] = (), stories: Sequence[Story] = ()) -> dict[str, Any]:
    return snapshot(FakeSwarm(records, stories), 100.0, 50.0)  # type: ignore[arg-type]


def test_a_line_has_wave_counts_pace_and_the_slowest_session() -> None:
    assert text_of(FIELDS) == "wave 1 · 12/80 sessions · maxrounds 12 · 4568 tokens/s · slowest 3 s"


def test_without_a_token_count_of_the_server_chunks_are_named_chunks() -> None:
    assert "1234 chunks/s" in text_of({**FIELDS, "tokens_per_s": None})
    assert taken([replace(record(0, wave=1), tokens=0)])["tokens_per_s"] is None


def test_counts_are_those_of_the_wave_and_sum_to_what_ended() -> None:
    fields = taken([record(0), record(1, "leak"), record(2, wave=1), record(3, "timeout", wave=1)])
    assert (fields["wave"], fields["ended"], fields["sessions"]) == (2, 2, 80)
    assert fields["counts"] == {"maxrounds": 1, "timeout": 1}
    assert fields["corrupt"] == 1


def test_tokens_a_second_come_from_the_servers_count_of_what_ended() -> None:
    fields = taken([replace(record(0, wave=1), tokens=800)], [live(5, 46.5, 200), live(6, 49.0, 0)])
    assert fields["tokens_per_s"] == pytest.approx(100.0 * (800 + 200) / 500)
    assert (fields["slowest_s"], fields["running"]) == (3.5, 2)


def test_a_change_is_a_session_that_ended_a_wave_or_half_a_minute() -> None:
    changes = Changes()
    assert changes.new(FIELDS, 0.0)
    assert not changes.new({**FIELDS, "slowest_s": 9.0}, 1.0)
    assert changes.new({**FIELDS, "counts": {"maxrounds": 13}}, 2.0)
    assert changes.new({**FIELDS, "counts": {}, "wave": 2}, 3.0)
    assert not changes.new({**FIELDS, "counts": {}, "wave": 2}, 2.9 + QUIET_S)
    assert changes.new({**FIELDS, "counts": {}, "wave": 2}, 3.0 + QUIET_S)


def test_a_log_keeps_one_line_a_change() -> None:
    out, log = io.StringIO(), io.StringIO()
    say = teller(out, jsonl=False)
    plain = Plain(log, now=lambda: datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC))
    for number, changed in enumerate((True, False, False, True)):
        say(f"line {number}", changed=changed)
        plain(Progress("validate x", f"line {number}", {"changed": changed}))
    assert out.getvalue().split("\n")[:-1] == ["line 0", "line 3"]
    assert [line[9:] for line in log.getvalue().split("\n")[:-1]] == [
        "validate x: line 0",
        "validate x: line 3",
    ]


def test_json_lines_carry_every_second() -> None:
    out = io.StringIO()
    teller(out, jsonl=True)("line", changed=False, wave=1)
    assert (
        out.getvalue() == '{"event": "progress", "text": "line", "fields": {"changed": false, "wave": 1}}\n'
    )


@pytest.mark.real
def test_a_run_tells_its_waves_while_it_goes() -> None:
    told: list[dict[str, Any]] = []

    async def body() -> None:
        async with FaultServer(lambda request: Behaviour(pieces=10, pause_s=0.05)).serving() as server:
            await validated(server, replace(OPTIONS, waves=2), say=lambda text, **fields: told.append(fields))

    asyncio.run(body())
    assert {fields["wave"] for fields in told} == {1, 2}
    assert any(fields["tokens_per_s"] for fields in told)
    assert all(sum(fields["counts"].values()) == fields["ended"] <= 4 for fields in told)
