from __future__ import annotations

import pytest

from runbook.model import Budget
from runbook.probes import breaker

START = "{ path=/usr/bin/python3 ; argv[]=/usr/bin/python3 -m sglang_router.launch_router --port 30001 ; }"
CONTINUED = """#!/bin/bash
# --cb-timeout-duration-secs 5 was too short
exec python -m sglang_router.launch_router \\
  --pd-disaggregation \\
  --cb-timeout-duration-secs \\
    25 \\
  --port 30001
"""


@pytest.mark.parametrize(
    ("text", "timeout_s"),
    [
        (START, 60.0),
        (CONTINUED, 25.0),
        ("sglang-router --cb-timeout-duration-secs=7", 7.0),
        ('smg launch --cb-timeout-duration-secs "8"', 8.0),
        ("smg launch --cb-timeout-duration-secs 8 --cb-timeout-duration-secs 9", 9.0),
        ('smg launch --cb-timeout-duration-secs "$CB"', 60.0),
        ("smg launch --cb-timeout-duration-secs 9 --disable-circuit-breaker", 0.0),
        ("#!/bin/sh\n# sglang_router --cb-timeout-duration-secs 3\nexec smg launch", 60.0),
    ],
)
def test_the_timeout_is_read_from_what_starts_the_router(text: str, timeout_s: float) -> None:
    found = breaker.of_router([text])
    assert found is not None
    assert found.timeout_s == timeout_s


@pytest.mark.parametrize(
    "text",
    ["", "exec python -m sglang.launch_server --port 30000", "exec llama-server -m smgnet.gguf", "# smg"],
)
def test_what_starts_no_router_has_no_breaker(text: str) -> None:
    assert breaker.of_router([text]) is None


@pytest.mark.parametrize(
    ("budget", "attempts"),
    [
        (Budget(30, 3, 10), 30),  # the original rollout's: 87 s are enough for 60 + 15
        (Budget(10, 3, 10), 26),
        (Budget(1, 0.05, 1), 1501),
    ],
)
def test_a_budget_outlasts_the_breaker_by_fifteen_seconds(budget: Budget, attempts: int) -> None:
    found = breaker.Breaker(60.0, "default").outlasted(budget)
    assert found.attempts == attempts
    assert (found.attempts - 1) * found.every_s >= 75


def test_a_timeout_nobody_can_mean_is_not_waited_out() -> None:
    found = breaker.of_router(["smg launch --cb-timeout-duration-secs 99999999999999999999"])
    assert found is not None
    assert found.outlasted(Budget(30, 3, 10)).attempts == (1800 + 15) / 3 + 1


def test_no_breaker_asks_for_no_more_time() -> None:
    assert breaker.Breaker(0.0, "off").outlasted(Budget(2, 1, 1)) == Budget(2, 1, 1)


def test_the_message_says_how_long_it_can_still_take() -> None:
    open_circuit = breaker.Breaker(60.0, "its default of 60 s")
    assert open_circuit.told(12.4, "HTTP 503: all circuits open or unhealthy") == (
        "router circuit breaker, 48 s left at most (its default of 60 s): HTTP 503: all circuits open or unhealthy"
    )
    assert open_circuit.told(12.4, "HTTP 502").startswith("perhaps the router circuit breaker, 48 s left")
    assert "should have closed by now" in open_circuit.told(61, "HTTP 503: all circuits open")


def test_the_routers_own_table_reads_as_one_line_a_worker() -> None:
    body = (
        b'{"workers":[{"url":"http://127.0.0.1:30002","worker_type":"decode","is_healthy":true,"load":0},'
        b'{"url":"http://127.0.0.1:30000","worker_type":"prefill","is_healthy":false,"load":3}],"total":2}'
    )
    assert breaker.workers(body) == [
        "decode http://127.0.0.1:30002 healthy, load 0",
        "prefill http://127.0.0.1:30000 not healthy, load 3",
    ]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"{}", b'{"workers": 3}', b'{"workers": [1, "x", null]}', b"\xff"]
)
def test_what_is_no_table_shows_nothing(body: bytes) -> None:
    assert breaker.workers(body) == []


def test_a_hostile_table_cannot_steer_the_terminal_or_flood_it() -> None:
    rows = ",".join('{"url": "\\u001b[2J' + "x" * 5000 + '", "is_healthy": [1]}' for _ in range(500))
    shown = breaker.workers(f'{{"workers": [{rows}]}}'.encode())
    assert len(shown) == 16
    assert all(len(line) <= 200 and "\x1b" not in line for line in shown)
