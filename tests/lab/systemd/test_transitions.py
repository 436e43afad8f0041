"""The state machine of a unit, in tables: no process, no clock."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.lab.systemd.exits import describe_exit
from runbook.lab.systemd.service import (
    Action,
    Asked,
    Elapsed,
    Emptied,
    Event,
    Executed,
    Finish,
    Kill,
    Log,
    MainExited,
    Moment,
    ResetFailed,
    Service,
    Spawn,
    Spawned,
    Wait,
)
from runbook.lab.systemd.transitions import step
from runbook.lab.systemd.unitfile import UnitFile

UNIT = UnitFile("a.service", "loaded", argv=("/bin/a",), stop_s=5.0, restart_s=2.0, interval_s=10.0)
START, STOP, RESTART = Asked("start"), Asked("stop"), Asked("restart")
OK, FAILED = MainExited(1, 0, True), MainExited(1, 1, True)
KILLED, TERMED = MainExited(2, 9, True), MainExited(2, 15, True)
TERMED_FIRST = MainExited(2, 15, False)


def tell(
    unit: UnitFile, *events: Event, start_us: int = 1_000_000, each_us: int = 100_000
) -> tuple[Service, list[Action]]:
    """The state and every action after a row of events, `each_us` apart."""
    service = Service(unit)
    done: list[Action] = []
    for number, event in enumerate(events):
        service, actions = step(service, event, Moment(start_us + number * each_us, f"id{number}"))
        done += actions
    return service, done


def logged(actions: list[Action]) -> list[str]:
    return [action.text for action in actions if isinstance(action, Log)]


def finished(actions: list[Action]) -> list[str]:
    return [action.result for action in actions if isinstance(action, Finish)]


@pytest.mark.parametrize(
    ("unit", "events", "want"),
    [
        ({}, [START], "activating start success"),
        ({}, [START, Spawned(7)], "active running success"),
        ({"type": "exec"}, [START, Spawned(7)], "activating start success"),
        ({"type": "exec"}, [START, Spawned(7), Executed()], "active running success"),
        ({}, [START, Spawned(7), OK], "inactive dead success"),
        ({}, [START, Spawned(7), FAILED], "failed failed exit-code"),
        ({"ignore_failure": True}, [START, Spawned(7), FAILED], "inactive dead success"),
        ({}, [START, Spawned(7), KILLED], "failed failed signal"),
        ({}, [START, Spawned(7), TERMED], "inactive dead success"),
        ({}, [START, Spawned(7), MainExited(3, 11, True)], "failed failed core-dump"),
        ({}, [START, Spawned(7), STOP], "deactivating stop-sigterm success"),
        ({}, [START, Spawned(7), STOP, TERMED], "inactive dead success"),
        ({}, [START, Spawned(7), STOP, MainExited(1, 143, True)], "failed failed exit-code"),
        ({}, [START, Spawned(7), STOP, TERMED_FIRST], "deactivating final-sigterm success"),
        ({}, [START, Spawned(7), STOP, TERMED_FIRST, Emptied()], "inactive dead success"),
        ({}, [START, Spawned(7), STOP, Elapsed()], "deactivating stop-sigkill timeout"),
        ({}, [START, Spawned(7), STOP, Elapsed(), KILLED], "failed failed timeout"),
        ({}, [START, Spawned(7), STOP, Elapsed(), Elapsed()], "failed failed timeout"),
        ({}, [START, Spawned(7), MainExited(1, 1, False)], "deactivating stop-sigterm exit-code"),
        ({}, [START, Spawned(7), MainExited(1, 1, False), Emptied()], "failed failed exit-code"),
        ({"kill_mode": "process"}, [START, Spawned(7), STOP, TERMED_FIRST], "inactive dead success"),
        ({"kill_mode": "none"}, [START, Spawned(7), STOP], "inactive dead success"),
        (
            {"kill_mode": "mixed"},
            [START, Spawned(7), STOP, TERMED_FIRST],
            "deactivating stop-sigkill success",
        ),
        ({}, [START, Spawned(7), RESTART, TERMED], "activating start success"),
        ({}, [START, Spawned(7), RESTART, TERMED, Spawned(8)], "active running success"),
        ({}, [RESTART, Spawned(7)], "active running success"),
        ({}, [START, Spawned(7), STOP, START, TERMED], "activating start success"),
        ({}, [START, Spawned(7), RESTART, STOP, TERMED], "inactive dead success"),
        ({"restart": "always"}, [START, Spawned(7), OK], "activating auto-restart success"),
        ({"restart": "on-failure"}, [START, Spawned(7), OK], "inactive dead success"),
        ({"restart": "on-failure"}, [START, Spawned(7), FAILED], "activating auto-restart exit-code"),
        ({"restart": "on-failure"}, [START, Spawned(7), KILLED], "activating auto-restart signal"),
        ({"restart": "on-abnormal"}, [START, Spawned(7), FAILED], "failed failed exit-code"),
        ({"restart": "on-abort"}, [START, Spawned(7), KILLED], "activating auto-restart signal"),
        ({"restart": "on-success"}, [START, Spawned(7), OK], "activating auto-restart success"),
        ({"restart": "always"}, [START, Spawned(7), OK, Elapsed(), Spawned(8)], "active running success"),
        ({"restart": "always"}, [START, Spawned(7), OK, STOP], "inactive dead success"),
        ({"restart": "always"}, [START, Spawned(7), STOP, TERMED], "inactive dead success"),
        ({"restart": "always"}, [START, Spawned(7), FAILED, START], "activating start success"),
        ({"type": "oneshot"}, [START, Spawned(7)], "activating start success"),
        ({"type": "oneshot"}, [START, Spawned(7), OK], "inactive dead success"),
        ({"type": "oneshot"}, [START, Spawned(7), TERMED], "failed failed signal"),
        ({"type": "oneshot", "remain_after_exit": True}, [START, Spawned(7), OK], "active exited success"),
        ({"type": "exec"}, [START, Spawned(7), MainExited(1, 203, True)], "failed failed exit-code"),
        ({}, [START, Spawned(7), FAILED, ResetFailed()], "inactive dead success"),
        ({}, [STOP], "inactive dead success"),
    ],
)
def test_states_follow_systemd(unit: dict[str, object], events: list[Event], want: str) -> None:
    service, _ = tell(replace(UNIT, **unit), *events)  # type: ignore[arg-type]
    assert f"{service.active} {service.sub} {service.result}" == want


@pytest.mark.parametrize(
    ("unit", "events", "want"),
    [
        ({}, [START, Spawned(7)], ["done"]),
        ({}, [START, Spawned(7), FAILED], ["done"]),
        ({"type": "exec"}, [START, Spawned(7), MainExited(1, 203, True)], ["failed"]),
        ({"type": "exec"}, [RESTART, Spawned(7), MainExited(1, 203, True)], ["failed"]),
        ({"type": "oneshot"}, [START, Spawned(7), FAILED], ["failed"]),
        ({"type": "oneshot"}, [START, Spawned(7), OK], ["done"]),
        ({}, [START, Spawned(7), STOP, TERMED], ["done", "done"]),
        ({}, [START, Spawned(7), RESTART, TERMED, Spawned(8)], ["done", "done"]),
        ({}, [START, Spawned(7), START], ["done", "done"]),
        ({}, [STOP], ["done"]),
        ({"restart": "always"}, [START, Spawned(7), OK, STOP], ["done", "done"]),
    ],
)
def test_a_job_ends_once_and_says_how(unit: dict[str, object], events: list[Event], want: list[str]) -> None:
    service, actions = tell(replace(UNIT, **unit), *events)  # type: ignore[arg-type]
    assert finished(actions) == want
    assert service.job is None


def test_a_crash_loop_is_counted_and_ends_at_the_start_limit() -> None:
    unit = replace(UNIT, restart="always", burst=3)
    crash: list[Event] = [Spawned(7), FAILED, Elapsed()]
    service, actions = tell(unit, START, *crash * 3)
    assert (service.sub, service.result, service.n_restarts) == ("failed", "exit-code", 3)
    assert sum(isinstance(action, Spawn) for action in actions) == 3
    assert "a.service: Start request repeated too quickly." in logged(actions)


def test_starts_that_are_far_apart_are_not_limited() -> None:
    unit = replace(UNIT, restart="always", burst=3)
    crash: list[Event] = [Spawned(7), FAILED, Elapsed()]
    service, _ = tell(unit, START, *crash * 9, each_us=2_000_000)
    assert (service.sub, service.n_restarts) == ("start", 9)


def test_asking_too_often_fails_with_start_limit_hit_until_reset_failed() -> None:
    again: list[Event] = [Spawned(7), RESTART, TERMED]
    service, actions = tell(replace(UNIT, burst=3), START, *again * 3)
    assert (service.sub, service.result) == ("failed", "start-limit-hit")
    assert finished(actions)[-1] == "failed"
    service, actions_after = step(service, ResetFailed(), Moment(9_000_000))
    service, actions_after = step(service, START, Moment(9_000_000, "fresh"))
    assert Spawn() in actions_after
    assert service.invocation == "fresh"


def test_a_start_asked_for_forgets_the_restarts_before() -> None:
    unit = replace(UNIT, restart="on-failure")
    events: list[Event] = [START, Spawned(7), FAILED, Elapsed(), Spawned(8)]
    assert tell(unit, *events)[0].n_restarts == 1
    assert tell(unit, *events, RESTART, TERMED, Spawned(9))[0].n_restarts == 0


def test_what_a_stop_signals_depends_on_the_kill_mode() -> None:
    def kills(mode: str) -> list[Kill]:
        events: list[Event] = [START, Spawned(7), STOP, Elapsed()]
        actions = tell(replace(UNIT, kill_mode=mode), *events)[1]
        return [action for action in actions if isinstance(action, Kill)]

    term, kill = signal.SIGTERM, signal.SIGKILL
    assert kills("control-group") == [Kill(term, "all"), Kill(kill, "all")]
    assert kills("mixed") == [Kill(term, "main"), Kill(kill, "all")]
    assert kills("process") == [Kill(term, "main"), Kill(kill, "main")]
    assert kills("none") == []


def test_the_main_process_and_its_end_are_remembered() -> None:
    service, _ = tell(UNIT, START, Spawned(7), MainExited(1, 3, True))
    assert (service.main_pid, service.exec_pid, service.exec_code, service.exec_status) == (0, 7, 1, 3)
    assert (service.exec_start_us, service.exec_exit_us, service.changed_us) == (
        1_100_000,
        1_200_000,
        1_200_000,
    )
    assert service.invocation == "id0"


def test_the_journal_tells_a_failure_in_systemds_words() -> None:
    unit = replace(UNIT, description="DeepSeek", restart="on-failure")
    assert logged(tell(unit, START, Spawned(7), MainExited(1, 1, True), Elapsed(), Spawned(8))[1]) == [
        "Started a.service - DeepSeek.",
        "a.service: Main process exited, code=exited, status=1/FAILURE",
        "a.service: Failed with result 'exit-code'.",
        "a.service: Scheduled restart job, restart counter is at 1.",
        "Stopped a.service - DeepSeek.",
        "Started a.service - DeepSeek.",
    ]


@pytest.mark.parametrize(
    ("code", "status", "want"),
    [
        (1, 0, "code=exited, status=0/SUCCESS"),
        (1, 203, "code=exited, status=203/EXEC"),
        (1, 42, "code=exited, status=42/n/a"),
        (2, 9, "code=killed, status=9/KILL"),
        (3, 11, "code=dumped, status=11/SEGV"),
        (2, 36, "code=killed, status=36/RTMIN+2"),
    ],
)
def test_exits_are_described_as_systemd_does(code: int, status: int, want: str) -> None:
    assert describe_exit(code, status) == want


EVENTS = st.sampled_from(
    [
        START,
        STOP,
        RESTART,
        ResetFailed(),
        Spawned(7),
        Executed(),
        OK,
        FAILED,
        KILLED,
        TERMED_FIRST,
        Emptied(),
        Elapsed(),
    ]
)
UNITS = st.builds(
    lambda type_, restart, mode: replace(UNIT, type=type_, restart=restart, kill_mode=mode, burst=100),
    st.sampled_from(["simple", "exec", "oneshot"]),
    st.sampled_from(["no", "always", "on-failure", "on-success"]),
    st.sampled_from(["control-group", "mixed", "process", "none"]),
)


@given(UNITS, st.lists(EVENTS, max_size=30))
def test_no_row_of_events_leaves_a_state_that_cannot_be(unit: UnitFile, events: list[Event]) -> None:
    service, actions = tell(unit, *events)
    assert service.active in {"active", "activating", "deactivating", "inactive", "failed"}
    assert (service.sub == "failed") <= (service.result != "success")
    assert not (service.sub in {"dead", "failed"} and service.job)
    assert len(finished(actions)) <= sum(isinstance(event, Asked) for event in events)
    assert all(action.seconds is None or action.seconds > 0 for action in actions if isinstance(action, Wait))
