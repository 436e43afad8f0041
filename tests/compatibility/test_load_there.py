"""The load generator's archive on the fleet's oldest Python that runs it, against servers that answer as they should."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from runbook import bundle
from runbook.ssh import InProcessWire
from tests.compatibility import interpreters
from tests.faultserver.server import Behaviour, FaultServer
from tests.load.bench.standin import StandIn, quick

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

VERSIONS = ("3.10", pytest.param("3.13", marks=pytest.mark.heavy))
# What a client has to say of itself depends on what else this machine does.
SESSIONS = (
    "--sessions 4 --rounds 2 --ctx 10 --max-tokens 600 --timeout 60 --seed 5 --min-concurrency 0.01 --jsonl"
)
SWEEP = (
    "--random-input-len 30 --random-output-len 8 --concurrency 1,4 --repeats 2 --num-prompts 4 "
    "--client-lag 1e6 --client-cpu 1e6 --jsonl"
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The archive, sent to a host and unpacked there."""
    state = tmp_path_factory.mktemp("state")
    with InProcessWire("running") as wire:
        return bundle.send_load(wire, str(state))


async def result(command: list[str], url: str) -> dict[str, Any]:
    """The document a run against this server ends with."""
    process = await asyncio.create_subprocess_exec(
        *command, "--base-url", url, "--model", "m",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, err.decode() or out.decode()[-2000:]
    last = json.loads(out.splitlines()[-1])
    assert last["event"] == "result"
    found: dict[str, Any] = last["result"]
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_agent_sessions_run_to_a_pass(version: str, directory: str, tmp_path: Path) -> None:
    repro = ["repro", *SESSIONS.split(), "--streams", str(tmp_path / "streams.gz")]
    command = bundle.load_argv(interpreters.needed(version), directory, repro)

    async def run() -> dict[str, Any]:
        async with FaultServer(lambda request: Behaviour(pieces=40, pause_s=0.01)).serving() as server:
            return await result(command, server.url)

    found = asyncio.run(run())
    assert (found["outcome"], found["counts"], found["corrupt"]) == ("pass", {"maxrounds": 4}, 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_bench_runs_to_a_pass(version: str, directory: str) -> None:
    command = bundle.load_argv(interpreters.needed(version), directory, ["bench", *SWEEP.split()])

    async def run() -> dict[str, Any]:
        async with StandIn(quick).serving() as url:
            return await result(command, url)

    found = asyncio.run(run())
    assert found["outcome"] == "pass"
    assert [len(level["output_tok_s"]) for level in found["levels"]] == [2, 2]
