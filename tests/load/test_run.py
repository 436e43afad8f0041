"""Whole runs against the fault server on a loopback port: every way a server can fail ends as what it is."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runbook.load.arguments import Asked
from runbook.load.control import Control
from runbook.load.options import Options
from runbook.load.outcome import Outcome
from runbook.load.preflight import PreflightFailed
from runbook.load.replay import replay
from runbook.load.run import run_validation
from runbook.load.streams import NoStreamFileError
from tests.faultserver.damage import DAMAGES, Scene
from tests.faultserver.reply import encoded, events_of
from tests.faultserver.server import Behaviour, FaultServer, Request, right

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runbook.load.results import SessionsResult

pytestmark = pytest.mark.real

OPTIONS = Options(
    base_url="",
    model="m",
    sessions=4,
    rounds=1,
    ctx=20,
    max_tokens=2000,
    timeout_s=20.0,
    tag="t",
    seed=7,
    rows=6,
    min_concurrency=0.0,
    max_client_cpu=9.0,  # the server is in this process too
)


@pytest.fixture(autouse=True)
def _own_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def quiet(text: str, /, **fields: Any) -> None:
    """Nobody listens."""


async def validated(
    server: FaultServer, options: Options, streams: Path | None = None, **more: Any
) -> SessionsResult:
    options = replace(options, base_url=server.url)
    say = more.pop("say", quiet)
    arms = {"api_key": None, "control": None, "automatic": None, **more}
    return await run_validation(Asked(options, streams=streams, **arms), say)


def run(
    choose: Callable[[Request], Behaviour],
    options: Options = OPTIONS,
    streams: Path | None = None,
    **more: Any,
) -> SessionsResult:
    async def body() -> SessionsResult:
        async with FaultServer(choose).serving() as server:
            return await validated(server, options, streams, **more)

    return asyncio.run(body())


def outcomes(result: SessionsResult) -> dict[str, Outcome]:
    return {finding.check: finding.outcome for finding in result.findings}


def test_a_correct_server_passes_and_leaves_no_streams() -> None:
    result = run(right)
    assert (result.outcome, result.counts, result.streams) == (Outcome.PASS, {"maxrounds": 4}, None)
    assert result.peak_concurrency >= 1
    assert result.tokens_per_s > 0


STORY = {
    "silence": (Behaviour(silent=True), "timeout", Outcome.INCONCLUSIVE),
    "a stall in the stream": (Behaviour(stall_after=300), "timeout", Outcome.INCONCLUSIVE),
    "too many requests": (Behaviour(status=429), "error", Outcome.INCONCLUSIVE),
    "an internal error": (Behaviour(status=500), "error", Outcome.INCONCLUSIVE),
    "a cut stream": (Behaviour(cut_after=400), "truncated", Outcome.FAIL),
    "a reset in the stream": (Behaviour(cut_after=400, reset=True), "truncated", Outcome.FAIL),
    "an empty stream": (Behaviour(stream=b""), "truncated", Outcome.FAIL),
    "an error in the stream": (
        Behaviour(stream=encoded([{"error": {"message": "gone"}}])),
        "streamerror",
        Outcome.INCONCLUSIVE,
    ),
}


@pytest.mark.parametrize("name", sorted(STORY))
def test_a_failing_server_ends_as_what_it_is(name: str) -> None:
    behaviour, end, outcome = STORY[name]
    options = replace(OPTIONS, timeout_s=1.0, early_stop=False)
    result = run(lambda request: behaviour, options)
    assert result.counts == {end: 4}
    assert result.outcome is outcome


def test_one_failed_session_is_not_zero_percent_of_the_rest() -> None:
    result = run(lambda request: Behaviour(status=503) if request.number == 5 else Behaviour())
    assert result.counts == {"maxrounds": 3, "error": 1}
    assert result.outcome is Outcome.INCONCLUSIVE


def test_a_server_that_dies_half_way_is_a_failure() -> None:
    async def body() -> SessionsResult:
        server = FaultServer()

        def dying(request: Request) -> Behaviour:
            if request.number > 5:
                server.die()
            return Behaviour(pieces=10, pause_s=0.01)

        server.choose = dying
        async with server.serving():
            return await validated(server, replace(OPTIONS, timeout_s=5.0))

    result = asyncio.run(body())
    assert outcomes(result)["alive"] is Outcome.FAIL
    assert result.outcome is Outcome.FAIL
    assert sum(result.counts.values()) == 4


def foreign_on(*numbers: int) -> Callable[[Request], Behaviour]:
    """A server that gives another run's value in these requests."""

    def choose(request: Request) -> Behaviour:
        if request.number not in numbers or request.plan is None:
            return Behaviour()
        scene = Scene(request.plan, {"rows": ["x"]}, ["kbmq-tqxr-aaaa"], random.Random(1))
        return Behaviour(stream=scene.saying("<｜DSML｜tool_calls>"))

    return choose


def test_two_corrupt_sessions_stop_the_run_early_and_say_so() -> None:
    options = replace(OPTIONS, sessions=20, concurrency=2)
    result = run(foreign_on(1, 2), options)
    assert result.counts["leak"] == 2
    assert sum(result.counts.values()) == 20
    assert result.finished == 20 - result.counts["cancelled"] < 20
    assert result.lines[1] == f"CORRUPTION sessions: 2 of {result.finished} finished, 20 asked for"
    assert result.outcome is Outcome.FAIL


def test_a_run_told_to_keep_going_finishes() -> None:
    result = run(foreign_on(1, 2), replace(OPTIONS, early_stop=False))
    assert result.counts == {"leak": 2, "maxrounds": 2}
    assert result.lines[1] == "CORRUPTION sessions: 2/4 = 50%"


def slipping(when: Callable[[FaultServer], bool], server: FaultServer) -> Callable[[Request], Behaviour]:
    """A server that damages one letter of the code while `when` holds."""

    def choose(request: Request) -> Behaviour:
        plan = request.plan
        if plan is None or plan.name != "finish" or not when(server):
            return Behaviour(pieces=5, pause_s=0.01)
        spoiled = plan.text[:-3] + ("a" if plan.text[-3] != "a" else "b") + plan.text[-2:]
        return Behaviour(stream=encoded(events_of(plan.with_text(spoiled))), pieces=5, pause_s=0.01)

    return choose


@pytest.mark.parametrize(
    ("when", "outcome"),
    [(lambda server: True, Outcome.INCONCLUSIVE), (lambda server: server.busy > 1, Outcome.FAIL)],
)
def test_slips_ask_for_a_control_arm_which_tells_load_from_habit(
    when: Callable[[FaultServer], bool], outcome: Outcome
) -> None:
    async def body() -> SessionsResult:
        async with FaultServer().serving() as server:
            server.choose = slipping(when, server)
            options = replace(OPTIONS, sessions=12)
            return await validated(server, options, automatic=Control(concurrency=1))

    result = asyncio.run(body())
    assert result.slips >= 8
    assert result.details["control"]["sessions"] == 12
    assert outcomes(result)["copying"] is outcome


def test_aborted_requests_do_not_count_as_sessions() -> None:
    async def body() -> tuple[SessionsResult, int]:
        async with FaultServer(lambda request: Behaviour(pieces=20, pause_s=0.002)).serving() as server:
            return await validated(server, replace(OPTIONS, aborts=1.0)), server.requests

    result, requests = asyncio.run(body())
    assert (result.outcome, result.counts) == (Outcome.PASS, {"maxrounds": 4})
    assert requests == 2 * 4 * 3


def test_waves_run_one_after_the_other_with_new_nonces() -> None:
    result = run(right, replace(OPTIONS, waves=3))
    assert (result.sessions, result.counts) == (12, {"maxrounds": 12})
    assert [wave["sessions"] for wave in result.waves] == [4, 4, 4]


def test_a_soak_goes_on_until_its_time_is_over() -> None:
    result = run(right, replace(OPTIONS, sessions=2, soak_s=0.3))
    assert len(result.waves) > 1
    assert result.wall_s >= 0.3


def test_kept_streams_are_judged_again_offline(tmp_path: Path) -> None:
    path = tmp_path / "streams.gz"
    result = run(foreign_on(2, 9), replace(OPTIONS, waves=2, early_stop=False), path)
    assert result.streams == str(path)
    options, records = replay(path)
    assert options.seed == 7
    again = {end: count for end, count in result.counts.items() if end != "maxrounds"}
    assert {record.end for record in records} == set(again) == {"leak"}
    assert len(records) == again["leak"]


@pytest.mark.parametrize("content", [b"", b"no gzip", b'{"kind": "streams"}'])
def test_another_file_is_no_stream_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(NoStreamFileError):
        replay(path)


def kept(run: object, *lines: object) -> bytes:
    """A file of raw streams that somebody else wrote."""
    head = {"kind": "streams", "schema": 1, "run": run}
    return gzip.compress("".join(f"{json.dumps(one)}\n" for one in (head, *lines)).encode(), mtime=0)


RUN = replace(OPTIONS, base_url="http://192.0.2.1").to_json()
LINE = {"session": 0, "wave": 0, "turn": 1, "end": "complete", "status": 200, "detail": "", "stream": ""}


@pytest.mark.parametrize(
    "content",
    [
        kept(None),
        kept([1]),
        kept({}),
        kept({**RUN, "sessions": "4"}),
        kept({**RUN, "sessions": True}),
        kept({**RUN, "sessions": 10**12}),
        kept({**RUN, "rounds": -1}),
        kept({**RUN, "shared_prefix": float("inf")}),
        kept({**RUN, "extra_body": []}),
        kept({**RUN, "tokenizer": "/nowhere/tokenizer.json"}, LINE),
        kept(RUN, {**LINE, "session": 99}),
        kept(RUN, {**LINE, "wave": 10**9}),
        kept(RUN, {**LINE, "wave": -1}),
        kept(RUN, {**LINE, "turn": 0}),
        kept(RUN, {**LINE, "turn": 99}),
        kept(RUN, {**LINE, "turn": float("inf")}),
        kept(RUN, {**LINE, "stream": "no base64!"}),
        kept(RUN, {**LINE, "stream": 7}),
        kept(RUN, [1]),
        kept(RUN, LINE)[:-12],
        kept(RUN, LINE)[:60] + b"\0" * 40,
        gzip.compress(b"[" * 100_000 + b"\n", mtime=0),
        gzip.compress(json.dumps({"kind": "streams", "run": RUN}).encode(), mtime=0),
    ],
)
def test_a_file_of_another_hand_is_refused_whatever_it_holds(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"\S") as refused:
        replay(path)
    assert "\n" not in str(refused.value)


def test_a_file_as_we_write_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(kept(RUN, LINE))
    _, records = replay(path)
    assert [record.end for record in records] == ["truncated"]


async def refused(server: FaultServer, options: Options = OPTIONS, **more: Any) -> PreflightFailed:
    async with server.serving():
        with pytest.raises(PreflightFailed) as caught:
            await validated(server, options, **more)
        assert server.requests == 0
    return caught.value


def test_a_wrong_model_lists_what_is_offered_before_any_load() -> None:
    error = asyncio.run(refused(FaultServer(models=("deepseek-v4-flash", "other"))))
    assert error.exit_code == 2
    assert str(error).endswith("no model 'm'; /v1/models offers deepseek-v4-flash, other")


def test_a_missing_key_names_the_option_before_any_load() -> None:
    error = asyncio.run(refused(FaultServer(key="secret")))
    assert error.exit_code == 2
    assert "HTTP 401" in str(error)
    assert "--api-key-env" in str(error)


@pytest.mark.parametrize(("status", "exit_code"), [(400, 2), (404, 2), (429, 3), (500, 3), (503, 3)])
def test_a_chat_that_fails_before_any_load_is_one_line(status: int, exit_code: int) -> None:
    error = asyncio.run(refused(FaultServer(chat_status=status)))
    assert error.exit_code == exit_code
    assert f"HTTP {status} to a chat" in str(error)
    assert "\n" not in str(error)


def test_the_right_key_opens() -> None:
    async def body() -> SessionsResult:
        async with FaultServer(key="secret").serving() as server:
            return await validated(server, OPTIONS, api_key="secret")

    assert asyncio.run(body()).outcome is Outcome.PASS


def test_the_servers_own_counters_are_kept() -> None:
    async def body() -> SessionsResult:
        async with FaultServer().serving() as server:
            server.metrics = 'sglang:num_running_reqs{tp_rank="0"} 4.0\nsglang:num_queue_reqs 2.0\n'
            return await validated(server, OPTIONS)

    result = asyncio.run(body())
    assert result.details["server"]["peak_running"] == 4.0
    assert result.details["server"]["peak_queued"] == 2.0
    assert result.details["prompt_tokens"] == 400


def test_nobody_there_is_one_line() -> None:
    async def body() -> None:
        async with FaultServer().serving() as server:
            server.die()
            await validated(server, OPTIONS)

    with pytest.raises(PreflightFailed, match="cannot be reached: Connection refused") as caught:
        asyncio.run(body())
    assert caught.value.exit_code == 3


def test_the_requests_are_never_constrained_and_carry_the_options() -> None:
    async def body() -> list[Any]:
        async with FaultServer().serving() as server:
            options = replace(OPTIONS, thinking=True, temperature=None, extra_body={"top_k": 1})
            await validated(server, options)
            return server.bodies

    bodies = asyncio.run(body())
    assert {"tool_choice", "response_format", "temperature"}.isdisjoint(bodies[0])
    assert bodies[0]["top_k"] == 1
    assert bodies[0]["chat_template_kwargs"] == {"thinking": True, "enable_thinking": True}
    assert bodies[0]["stream_options"] == {"include_usage": True}
    assert len({body["messages"][0]["content"] for body in bodies}) == 4


def test_every_damage_is_found_over_the_wire_too() -> None:
    """A mixture: half of the sessions damaged, each by another class."""
    hard = ("badutf8", "badusage", "truncated", "merged", "leak", "flood")

    def choose(request: Request) -> Behaviour:
        plan = request.plan
        if plan is None or plan.name != "store_record":
            return Behaviour()
        row = request.body["messages"][-1]["content"].split("\n")
        kind = (*hard, *["right"] * len(hard))[request.number % (2 * len(hard))]
        if kind == "right":
            return Behaviour()
        key = plan.text.split('"')[3]
        return Behaviour(stream=DAMAGES[kind](Scene(plan, {"key": key, "rows": row}, ["x"], request.rng)))

    result = run(choose, replace(OPTIONS, sessions=24, early_stop=False))
    corrupt = {end for end in result.counts if end != "maxrounds"}
    assert len(corrupt) >= 3
    assert corrupt <= set(hard)
    assert sum(result.counts.values()) == 24
    assert result.outcome is Outcome.FAIL
