from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from runbook.tunnel import Response
from runbook.verify import readiness
from tests.building import host
from tests.fakehost import FakeHost
from tests.test_rollout import work_on

if TYPE_CHECKING:
    from runbook.verdict import Finding

ROUTER = "{ path=/usr/bin/python3 ; argv[]=python3 -m sglang_router.launch_router --port 30001 ; ignore_errors=no }"
OPEN = b'{"error": {"message": "No available prefill workers (all circuits open or unhealthy)"}}'
TABLE = {
    "workers": [{"url": "http://127.0.0.1:30002", "worker_type": "decode", "is_healthy": True, "load": 0}]
}


def a_host(*, open_s: float, exec_start: str = ROUTER) -> FakeHost:
    """A host whose endpoint refuses chat until so many seconds have passed."""
    fake = FakeHost(host=host(), exec_starts={"router": exec_start})
    fake.pages["http://127.0.0.1:30001/workers"] = json.dumps(TABLE).encode()
    good = Response(200, b'{"choices": [{"message": {"content": "ready"}}]}', 0.01)
    fake.chat = lambda: good if fake.clock.now >= open_s else Response(503, OPEN, 0.01)
    return fake


def ready(fake: FakeHost) -> tuple[Finding, list[str]]:
    told: list[Any] = []
    work = work_on(fake, listeners=[told.append])
    with work.run.step("ready") as step:
        found = readiness.wait(work, step)
    return found, [event.text for event in told if hasattr(event, "fields")]


def test_a_wait_for_chat_outlasts_the_routers_breaker_whatever_the_host_file_says() -> None:
    found, told = ready(a_host(open_s=61))
    assert found.outcome.value == "pass"
    assert "try 62 of 76" in found.message
    assert told[10].startswith(
        "try 11 of 76, 10 s of 76 s, last: router circuit breaker, 50 s left at most (its default of 60 s)"
    )


def test_a_chat_that_never_comes_shows_the_routers_own_workers() -> None:
    found, _ = ready(a_host(open_s=1e9))
    assert found.outcome.value == "fail"
    assert "should have closed by now" in found.message
    assert "the router's own workers: decode http://127.0.0.1:30002 healthy, load 0" in found.message
    assert found.evidence["workers"] == ["decode http://127.0.0.1:30002 healthy, load 0"]


def test_the_timeout_of_the_routers_command_line_counts() -> None:
    found, told = ready(a_host(open_s=11, exec_start=f"{ROUTER} --cb-timeout-duration-secs 10"))
    assert "of 26," in found.message
    assert "10 s left at most (--cb-timeout-duration-secs 10)" in told[0]


def test_an_endpoint_that_is_no_router_keeps_its_budget_and_is_asked_for_no_table() -> None:
    found, told = ready(a_host(open_s=1e9, exec_start="{ path=/usr/bin/vllm ; argv[]=vllm serve ; }"))
    assert "(try 3 of 3" in found.message
    assert "router" not in found.message.removeprefix("router: ")
    assert not any("breaker" in line for line in told)


def test_a_worker_that_fails_meanwhile_ends_the_wait_and_is_named() -> None:
    fake = a_host(open_s=1e9)
    refuses = fake.chat
    assert refuses is not None

    def dies() -> Response:
        fake.units["decode.service"].active = "failed"
        return refuses()

    fake.chat = dies
    found, _ = ready(fake)
    assert "decode.service: unit failed" in found.message
    assert "(try 1 of" in found.message
