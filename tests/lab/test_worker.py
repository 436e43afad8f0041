"""Real worker processes on loopback ports, asked over HTTP."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from runbook.load.assembly import assemble
from tests.lab.model.playing import MODEL, histories, write_script

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.real

CHAT = [{"role": "user", "content": "hello"}]
OVERLAP = "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP"


@dataclass(frozen=True, slots=True)
class Worker:
    process: subprocess.Popen[str]
    port: int

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", trust_env=False, timeout=5)

    def chat(self, **fields: Any) -> httpx.Response:
        body = {"model": MODEL, "messages": CHAT, **fields}
        address = f"http://127.0.0.1:{self.port}/v1/chat/completions"
        return httpx.post(address, json=body, trust_env=False, timeout=20)

    def status(self) -> int:
        with contextlib.suppress(httpx.TransportError):
            return self.get("/health").status_code
        return 0

    def until(self, status: int, seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while (found := self.status()) != status:
            assert time.monotonic() < end, f"/health is {found}, not {status}"
            time.sleep(0.02)

    def counter(self, name: str) -> float:
        lines = self.get("/metrics").text.splitlines()
        return float(next(line.split()[-1] for line in lines if line.startswith(f"sglang:{name}{{")))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def started(role: str, *arguments: str, wait: bool = True, **environ: str) -> Iterator[Worker]:
    port = free_port()
    argv = [sys.executable, "-m", "runbook.lab.worker", "--role", role, "--port", str(port)]
    process = subprocess.Popen(
        [*argv, *arguments],
        env={"PATH": os.environ["PATH"], **environ},
        cwd=Path(__file__).parents[2],
        stderr=subprocess.PIPE,
        text=True,
    )
    worker = Worker(process, port)
    try:
        if wait:
            worker.until(200)
        yield worker
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def single() -> Iterator[Worker]:
    with started(
        "single", "--model-path", "/models/dsv4", SGLANG_DSV4_BF16_INDEX_K="1", HOME="/root"
    ) as worker:
        yield worker


def test_server_info_says_what_runs_and_with_which_environment(single: Worker) -> None:
    for path in ("/server_info", "/get_server_info"):
        told = single.get(path).json()
        assert told["version"] == "runbook-lab"
        assert (told["served_model_name"], told["model_path"]) == (MODEL, "/models/dsv4")
        assert (told["tp_size"], told["dp_size"], told["disaggregation_mode"]) == (1, 1, "null")
        assert told["environ"] == {"SGLANG_DSV4_BF16_INDEX_K": "1"}


def test_the_model_is_listed(single: Worker) -> None:
    assert [card["id"] for card in single.get("/v1/models").json()["data"]] == [MODEL]
    assert single.get("/model_info").json() == single.get("/get_model_info").json()


def test_a_session_is_played_right_over_http(single: Worker) -> None:
    tools = [
        {"type": "function", "function": {"name": n}} for n in ("fetch_record", "store_record", "finish")
    ]
    for messages, name, arguments in histories(write_script(rounds=2)):
        (call,) = assemble(single.chat(messages=messages, tools=tools, stream=True).content).calls
        assert (call.name, json.loads(call.arguments.text)) == (name, arguments)


def test_a_chat_without_stream_answers_and_is_counted(single: Worker) -> None:
    before = single.counter("generation_tokens_total")
    answer = single.chat(max_tokens=8)
    assert answer.status_code == 200
    assert answer.json()["usage"]["completion_tokens"] == 8
    assert answer.json()["choices"][0]["finish_reason"] == "length"
    assert single.counter("generation_tokens_total") == before + 8


@pytest.mark.parametrize(("fields", "status"), [({"model": "gpt"}, 404), ({"max_tokens": -1}, 400)])
def test_wrong_requests_get_an_error_object(single: Worker, fields: dict[str, Any], status: int) -> None:
    answer = single.chat(**fields)
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == status


def test_a_body_beyond_16_mib_is_refused(single: Worker) -> None:
    answer = single.chat(messages=[{"role": "user", "content": "x" * (17 << 20)}])
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, 413)


def test_the_same_prompt_again_is_cached(single: Worker) -> None:
    long = [{"role": "user", "content": "one two three four " * 60}]
    cached = [
        single.chat(messages=long, max_tokens=1).json()["usage"]["prompt_tokens_details"]["cached_tokens"]
        for _ in range(2)
    ]
    assert cached[0] == 0
    assert cached[1] > 100


def test_a_client_that_leaves_is_let_go(single: Worker) -> None:
    before = single.counter("num_aborted_requests_total")
    body = {"model": MODEL, "messages": CHAT, "stream": True, "ignore_eos": True, "max_tokens": 5000}
    address = f"http://127.0.0.1:{single.port}/v1/chat/completions"
    with httpx.stream("POST", address, json=body, trust_env=False) as answer:
        next(answer.iter_raw())
    end = time.monotonic() + 5
    while single.counter("num_aborted_requests_total") == before:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert single.counter("num_running_reqs") == 0


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Worker, Worker, int]]:
    bootstrap = free_port()
    with (
        started("prefill", "--bootstrap-port", str(bootstrap)) as prefill,
        started("decode", "--bootstrap-port", str(bootstrap)) as decode,
    ):
        yield prefill, decode, bootstrap


def rendezvous(port: int, room: int) -> dict[str, Any]:
    return {"bootstrap_host": "127.0.0.1", "bootstrap_port": port, "bootstrap_room": room}


def test_decode_speaks_once_prefill_has_accepted_the_room(pair: tuple[Worker, Worker, int]) -> None:
    prefill, decode, port = pair
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(decode.chat, max_tokens=8, **rendezvous(port, 1))
        time.sleep(0.2)
        assert not answer.done()
        handed = prefill.chat(max_tokens=8, **rendezvous(port, 1))
        assert handed.json()["usage"]["completion_tokens"] == 1
        assert answer.result().json()["usage"]["prompt_tokens"] == handed.json()["usage"]["prompt_tokens"]


def test_decode_without_a_prefill_fails_the_chat(pair: tuple[Worker, Worker, int]) -> None:
    answer = pair[1].chat(**rendezvous(free_port(), 2))
    assert answer.status_code == 500
    assert "transfer failed" in answer.json()["error"]["message"]


@pytest.mark.parametrize("role", [0, 1])
def test_a_request_that_came_past_the_router_is_refused(pair: tuple[Worker, Worker, int], role: int) -> None:
    answer = pair[:2][role].chat()
    assert (answer.status_code, "bootstrap room" in answer.text) == (400, True)


def test_a_boolean_sglang_rejects_ends_the_start_with_status_one() -> None:
    with started("decode", wait=False, **{OVERLAP: "maybe"}) as worker:
        _, said = worker.process.communicate(timeout=20)
        assert worker.process.returncode == 1
        assert f'ValueError: {OVERLAP}: "maybe" is not a valid boolean value' in said


def test_health_is_503_until_the_start_is_over() -> None:
    with started("single", "--start-delay-s", "0.7", wait=False) as worker:
        worker.until(503)
        assert worker.get("/v1/models").status_code == 200
        assert worker.chat().status_code == 503
        worker.until(200)


def test_a_worker_that_is_never_healthy_stays_at_503() -> None:
    with started("single", wait=False, RUNBOOK_LAB_NEVER_HEALTHY="1") as worker:
        worker.until(503)
        time.sleep(1.0)
        assert worker.status() == 503


def test_a_crash_ends_the_process_with_status_one() -> None:
    with started("single", wait=False, RUNBOOK_LAB_CRASH_AFTER_S="0.5") as worker:
        _, said = worker.process.communicate(timeout=20)
        assert worker.process.returncode == 1
        assert "Scheduler hit an exception" in said


def test_sigterm_ends_it_cleanly_and_cuts_what_still_runs() -> None:
    with started("single") as worker, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(worker.chat, stream=True, ignore_eos=True, max_tokens=100_000)
        while worker.counter("num_running_reqs") == 0:
            time.sleep(0.02)
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(timeout=10) == 0
        with pytest.raises(httpx.RemoteProtocolError):
            answer.result()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(("retitle", "shown"), [("0", True), ("1", False)])
def test_a_retitled_worker_shows_no_environment(retitle: str, shown: bool) -> None:
    with started("single", RUNBOOK_LAB_RETITLE=retitle, SGLANG_DSV4_BF16_INDEX_K="1") as worker:
        environ = Path(f"/proc/{worker.process.pid}/environ").read_bytes()
        assert (b"SGLANG_DSV4_BF16_INDEX_K=1" in environ) is shown
        assert worker.get("/server_info").json()["environ"]["SGLANG_DSV4_BF16_INDEX_K"] == "1"
