"""Sessions shared among client processes: the same run, the same verdict, the same evidence."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runbook.load.crew import summed
from runbook.load.ending import ClientDiedError
from runbook.load.gauge import Gauge, merged, peak_overlap
from runbook.load.outcome import Outcome
from runbook.load.part import A_PROCESS, Part, parts
from runbook.load.replay import replay
from tests.faultserver.server import Behaviour, FaultServer, Request
from tests.load.test_run import OPTIONS, foreign_on, run, validated

if TYPE_CHECKING:
    from pathlib import Path

TWO = replace(OPTIONS, sessions=6, processes=2)


@pytest.mark.parametrize(
    ("at_once", "wanted"), [(1, 1), (A_PROCESS, 1), (A_PROCESS + 1, 2), (3 * A_PROCESS, 3)]
)
def test_more_sessions_than_one_core_carries_call_for_more_processes(at_once: int, wanted: int) -> None:
    cores = os.cpu_count() or 1
    assert len(parts(replace(OPTIONS, sessions=at_once))) == min(wanted, cores)


def test_processes_can_be_said_and_are_never_more_than_sessions() -> None:
    assert len(parts(replace(OPTIONS, sessions=80, processes=3))) == 3
    assert len(parts(replace(OPTIONS, sessions=2, processes=5))) == 2
    assert len(parts(replace(OPTIONS, sessions=80, concurrency=4, processes=5))) == 4


@pytest.mark.parametrize(("sessions", "at_once", "number"), [(80, 80, 3), (7, 4, 3), (5, 5, 5), (1, 1, 1)])
def test_every_session_and_every_slot_is_of_one_part(sessions: int, at_once: int, number: int) -> None:
    shared = [Part(index, number) for index in range(number)]
    assert sorted(one for part in shared for one in part.mine(range(sessions))) == list(range(sessions))
    assert sum(part.slots(at_once) for part in shared) == at_once


def fields(**changes: Any) -> dict[str, Any]:
    whole = {"wave": 1, "sessions": 6, "ended": 1, "running": 2, "in_flight": 2, "counts": {"maxrounds": 1}}
    return {
        **whole,
        "corrupt": 0,
        "hard": 0,
        "chunks_per_s": 10.5,
        "tokens_per_s": 20.0,
        "slowest_s": 1.0,
        **changes,
    }


def test_the_figures_of_all_processes_are_those_of_one_run() -> None:
    found = summed([fields(wave=2, slowest_s=3.5), fields(counts={"leak": 1}, corrupt=1, hard=1)])
    assert (found["wave"], found["ended"], found["sessions"], found["slowest_s"]) == (1, 2, 6, 3.5)
    assert (found["counts"], found["corrupt"], found["hard"]) == ({"maxrounds": 1, "leak": 1}, 1, 1)
    assert (found["chunks_per_s"], found["tokens_per_s"]) == (21.0, 40.0)
    assert summed([fields(tokens_per_s=None)])["tokens_per_s"] is None


def test_streams_of_several_processes_overlap_in_time() -> None:
    first, second = Gauge(), Gauge()
    first._spans, second._spans = [(0.0, 2.0), (3.0, 4.0)], [(1.0, 3.5)]
    assert merged([first, second]).peak() == peak_overlap([(0.0, 2.0), (3.0, 4.0), (1.0, 3.5)]) == 2


def slow(request: Request) -> Behaviour:
    return Behaviour(pieces=10, pause_s=0.02)


@pytest.mark.real
def test_two_processes_make_one_run_of_all_sessions() -> None:
    result = run(slow, replace(TWO, waves=2))
    assert (result.outcome, result.counts, result.sessions) == (Outcome.PASS, {"maxrounds": 12}, 12)
    assert [wave["sessions"] for wave in result.waves] == [6, 6]
    assert result.peak_concurrency == 6


@pytest.mark.real
@pytest.mark.parametrize("named", [True, False])
def test_evidence_of_all_processes_is_one_file_and_judged_again(tmp_path: Path, named: bool) -> None:
    path = tmp_path / "streams.gz" if named else None
    result = run(lambda request: Behaviour(cut_after=300), replace(TWO, early_stop=False), path)
    assert result.counts == {"truncated": 6}
    assert result.streams is not None
    assert not named or result.streams == str(path)
    _, records = replay(tmp_path / result.streams)
    assert sorted(record.session for record in records) == list(range(6))
    assert {record.end for record in records} == {"truncated"}
    assert len(list(tmp_path.glob("streams.gz*"))) == int(named)


@pytest.mark.real
def test_two_hard_findings_in_different_processes_stop_all_of_them() -> None:
    def choose(request: Request) -> Behaviour:
        damaged = foreign_on(1, 2)(request)
        return damaged if damaged.stream else Behaviour(pieces=100, pause_s=0.05)

    result = run(choose, replace(TWO, sessions=8, rounds=3))
    assert result.counts["leak"] == 2
    assert result.counts["cancelled"] == 6
    assert result.lines[1] == "CORRUPTION sessions: 2 of 2 finished, 8 asked for"
    assert result.outcome is Outcome.FAIL


@pytest.mark.real
def test_a_client_process_that_dies_is_no_verdict_and_leaves_nobody_behind() -> None:
    async def body() -> None:
        async with FaultServer().serving() as server:

            def choose(request: Request) -> Behaviour:
                for process in multiprocessing.active_children()[:1]:
                    process.kill()
                return Behaviour(pieces=50, pause_s=0.05)

            server.choose = choose
            await validated(server, TWO)

    with pytest.raises(ClientDiedError):
        asyncio.run(body())
    assert multiprocessing.active_children() == []


@pytest.mark.real
def test_all_processes_are_told_of_as_one() -> None:
    told: list[dict[str, Any]] = []

    async def body() -> None:
        async with FaultServer(lambda request: Behaviour(pieces=20, pause_s=0.05)).serving() as server:
            await validated(server, TWO, say=lambda text, **fields: told.append(fields))

    asyncio.run(body())
    assert max(fields["running"] for fields in told) == 6
    assert all(fields["sessions"] == 6 for fields in told)
