from __future__ import annotations

import json

import pytest

from runbook.errors import InterruptedByOperator
from runbook.model import Budget
from runbook.probes import Asked, Sample, breaker, finding, ready, unit, until
from runbook.tunnel import Response
from runbook.verdict import Outcome

NO, YES, NEVER = Sample(False, "refused"), Sample(True, "HTTP 200"), Sample(False, "unit failed", final=True)


class Clock:
    """Seconds that pass only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def asked(*answers: Sample, attempts: int = 60, every_s: float = 5) -> tuple[Asked, list[int]]:
    clock, tries, left = Clock(), [], list(answers)

    def on_try(attempt: int, sample: Sample) -> None:
        tries.append(attempt)

    ask = lambda: left.pop(0) if len(left) > 1 else left[0]  # noqa: E731
    return until(ask, Budget(attempts, every_s, 3), sleep=clock.sleep, clock=clock, on_try=on_try), tries


def test_a_first_answer_that_holds_costs_no_time() -> None:
    assert asked(YES)[0] == Asked(YES, 1, 0.0)


def test_it_asks_every_interval_until_it_holds() -> None:
    assert asked(NO, NO, YES)[0] == Asked(YES, 3, 10.0)


def test_it_gives_up_after_its_attempts_with_the_last_answer() -> None:
    assert asked(NO, attempts=4)[0] == Asked(NO, 4, 15.0)


def test_a_final_answer_ends_the_wait_at_once() -> None:
    assert asked(NO, NEVER)[0] == Asked(NEVER, 2, 5.0)


def test_each_try_that_does_not_hold_is_told() -> None:
    assert asked(NO, NO, YES)[1] == [1, 2]


def test_an_error_of_the_asking_is_raised_as_it_is() -> None:
    def ask() -> Sample:
        raise InterruptedByOperator("stop")

    with pytest.raises(InterruptedByOperator):
        until(ask, Budget(3, 1, 1), sleep=lambda s: None, clock=lambda: 0.0)


def test_the_finding_carries_both_numbers() -> None:
    found = finding("health", "decode", Asked(NO, 60, 295.0), Budget(60, 5, 3))
    assert found.outcome is Outcome.FAIL
    assert found.message == "decode: refused (try 60 of 60, 295 s of 300 s)"


@pytest.mark.parametrize(
    ("properties", "holds", "final"),
    [
        (
            {"LoadState": "loaded", "ActiveState": "active", "SubState": "running", "MainPID": "7"},
            True,
            False,
        ),
        (
            {"LoadState": "loaded", "ActiveState": "reloading", "SubState": "reload", "MainPID": "7"},
            True,
            False,
        ),
        (
            {"LoadState": "loaded", "ActiveState": "activating", "SubState": "start", "MainPID": "7"},
            False,
            False,
        ),
        (
            {
                "LoadState": "loaded",
                "ActiveState": "deactivating",
                "SubState": "stop-sigterm",
                "MainPID": "7",
            },
            False,
            False,
        ),
        (
            {"LoadState": "loaded", "ActiveState": "activating", "SubState": "auto-restart", "MainPID": "0"},
            False,
            True,
        ),
        (
            {"LoadState": "loaded", "ActiveState": "failed", "SubState": "failed", "Result": "exit-code"},
            False,
            True,
        ),
        (
            {
                "LoadState": "loaded",
                "ActiveState": "failed",
                "SubState": "failed",
                "Result": "start-limit-hit",
            },
            False,
            True,
        ),
        ({"LoadState": "loaded", "ActiveState": "inactive", "SubState": "dead"}, False, True),
        ({"LoadState": "loaded", "ActiveState": "inactive", "SubState": "dead", "Job": ""}, False, True),
        ({"LoadState": "loaded", "ActiveState": "inactive", "SubState": "dead", "Job": "824"}, False, False),
        ({"LoadState": "loaded", "ActiveState": "failed", "SubState": "failed", "Job": "824"}, False, False),
        ({"LoadState": "loaded", "ActiveState": "active", "SubState": "exited", "MainPID": "0"}, False, True),
        ({"LoadState": "masked", "ActiveState": "inactive"}, False, True),
        ({"LoadState": "not-found", "ActiveState": "inactive"}, False, True),
    ],
)
def test_every_state_of_a_unit_has_one_reading(properties: dict[str, str], holds: bool, final: bool) -> None:
    sample = unit.judge(properties)
    assert (sample.holds, sample.final) == (holds, final)


UP = {"LoadState": "loaded", "ActiveState": "active", "SubState": "running", "MainPID": "7", "NRestarts": "0"}


@pytest.mark.parametrize(
    ("now", "says"),
    [
        (UP, None),
        (UP | {"MainPID": "8"}, "MainPID was 7, is 8"),
        (UP | {"NRestarts": "1"}, "NRestarts was 0, is 1"),
        (UP | {"ActiveState": "failed", "Result": "signal"}, "unit failed (signal, exit status ?)"),
    ],
)
def test_a_unit_that_did_not_run_through_has_crashed(now: dict[str, str], says: str | None) -> None:
    assert unit.crashed(UP, now) == says


@pytest.mark.parametrize(
    ("restarts", "told"),
    [
        ({}, "(signal)"),
        ({"NRestarts": ""}, "(signal)"),
        ({"NRestarts": "0"}, "(signal)"),
        ({"NRestarts": "1"}, "(signal, 1 time)"),
        ({"NRestarts": "7"}, "(signal, 7 times)"),
    ],
)
def test_a_crash_says_how_often_where_it_came_back_before(restarts: dict[str, str], told: str) -> None:
    crashing = {"ActiveState": "activating", "SubState": "auto-restart", "Result": "signal"}
    assert unit.judge(crashing | restarts).text == f"unit crashed and is restarted by systemd {told}"


STARTING = UP | {"ActiveState": "activating", "SubState": "start-pre", "MainPID": "0"}


@pytest.mark.parametrize(
    ("before", "now", "says"),
    [
        (STARTING, UP, None),
        (UP | {"ActiveState": "inactive", "SubState": "dead", "MainPID": "0"}, UP, None),
        (
            UP | {"ActiveState": "activating", "SubState": "auto-restart", "MainPID": "0"},
            UP | {"NRestarts": "1"},  # counted when systemd starts it again
            "NRestarts was 0, is 1",
        ),
        (STARTING, STARTING, "activating/start-pre"),
    ],
)
def test_a_unit_that_gets_its_first_process_has_not_crashed(
    before: dict[str, str], now: dict[str, str], says: str | None
) -> None:
    assert unit.crashed(before, now) == says


def answer(status: int, body: object) -> Response:
    return Response(status, body if isinstance(body, bytes) else json.dumps(body).encode(), 0.1)


@pytest.mark.parametrize(
    ("response", "holds", "final"),
    [
        (answer(200, {"choices": [{"message": {"content": "ready"}}]}), True, False),
        (answer(200, {"choices": [{"message": {"content": None, "reasoning_content": "hm"}}]}), True, False),
        (answer(200, {"choices": [{"message": {"content": ""}}]}), False, False),
        (answer(200, {"choices": []}), False, False),
        (answer(200, b"<html>it works</html>"), False, False),
        (answer(200, ["choices"]), False, False),
        (answer(200, {"choices": [{"message": "text"}]}), False, False),
        (answer(503, {"error": "no worker"}), False, False),
        (answer(500, b"\xff\xfe"), False, False),
        (answer(401, {"error": "key"}), False, True),
        (answer(404, {"error": "no such model"}), False, True),
        (answer(400, {"error": "bad"}), False, True),
    ],
)
def test_only_a_completion_is_ready_and_a_wrong_request_ends_the_wait(
    response: Response, holds: bool, final: bool
) -> None:
    sample = ready.judge(response)
    assert (sample.holds, sample.final) == (holds, final)


def test_an_answer_nested_beyond_reason_is_no_completion_and_no_crash() -> None:
    deep = b'{"choices": ' + b"[" * 200_000
    assert ready.judge(Response(200, deep, 0.1)).text.startswith("HTTP 200 without a completion")
    assert breaker.workers(deep) == []


class Refusing:
    """An endpoint that quotes the key it refuses."""

    def post_json(self, url: str, body: object, *, deadline_s: float, headers: dict[str, str]) -> Response:
        return Response(401, f"Incorrect API key provided: {headers['Authorization'][7:]}".encode(), 0.1)


def test_a_key_that_is_refused_is_not_shown() -> None:
    sample = ready.ask(Refusing(), "http://h", "m", max_tokens=8, timeout_s=1, api_key="sk-12345")  # type: ignore[arg-type]
    assert sample.text == "HTTP 401: key refused: Incorrect API key provided: ***"
