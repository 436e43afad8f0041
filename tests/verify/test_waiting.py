from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from runbook.events import Progress, StepStarted
from runbook.model import Budget, Wait
from runbook.tunnel import TunnelRefused
from runbook.verify import waiting
from tests.building import DECODE, OVERLAP, PREFILL, host, script
from tests.fakehost import FakeHost, RunningUnit
from tests.test_rollout import deploy, work_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.tunnel import Response

RIGHT = {PREFILL: script(), DECODE: script(**{OVERLAP: "0"})}
PATIENT = host(wait=Wait(Budget(20, 1, 1), Budget(3, 1, 1), 8, 0.0))


class SlowStop(RunningUnit):
    """A unit that takes 90 s to go and then is up again with another process; `now` is the host's clock."""

    def properties(self) -> dict[str, str]:
        if self.now() < 90:
            gone = {"ActiveState": "deactivating", "SubState": "stop-sigterm", "TimeoutStopUSec": "1min 30s"}
            return super().properties() | gone
        return super().properties() | {"MainPID": "4711"}

    now: Any = None


def test_a_slow_stop_is_told_while_it_lasts_and_the_unit_is_waited_for() -> None:
    fake = FakeHost(host=host(wait=Wait(Budget(60, 5, 3), Budget(3, 1, 1), 8, 0.0)))
    unit = fake.units["decode.service"]
    slow = SlowStop(unit.unit, {}, unit.pid)
    slow.now = fake.clock
    fake.units["decode.service"] = slow
    told: list[Any] = []
    work = work_on(fake, listeners=[told.append])
    with work.run.step("restart decode") as step:
        found = waiting.wait_up(work, unit.unit, step, replaced_pid=unit.pid)
    texts = [event.text for event in told if isinstance(event, Progress)]
    assert found.outcome.value == "pass"
    assert texts[8] == "try 9 of 60, 40 s of 300 s, last: stopping 40 s of 90 s (stop-sigterm)"


@dataclass
class SlowStart(RunningUnit):
    """A unit that has no process of its own until `now` shows `until_s`: systemd runs its ExecStartPre."""

    now: Callable[[], float] = float
    until_s: float = 0.0

    def properties(self) -> dict[str, str]:
        starting = {"ActiveState": "activating", "SubState": "start-pre", "MainPID": "0"}
        return super().properties() | (
            starting if self.active == "active" and self.now() < self.until_s else {}
        )


def slow_start(fake: FakeHost, name: str, **fields: Any) -> SlowStart:
    """The unit of the host, as one that starts slowly."""
    unit = fake.units[name]
    slow = SlowStart(unit.unit, unit.environ, unit.pid, now=fake.clock, **fields)
    fake.units[name] = slow
    return slow


def test_a_unit_that_was_down_and_takes_its_time_to_start_has_not_crashed() -> None:
    fake = FakeHost(host=PATIENT, files=dict(RIGHT))
    slow_start(fake, "decode.service", active="inactive", until_s=3.0)
    story = deploy(fake)
    assert (story.exit_code, story.error, fake.calls.count("unit_restart")) == (0, None, 1)


def test_a_unit_that_systemd_restarts_along_with_ours_has_not_crashed() -> None:
    """As of a router that is PartOf= the worker behind it."""
    fake = FakeHost(host=PATIENT)
    router = slow_start(fake, "router.service")

    def along(unit: RunningUnit) -> None:
        router.pid, router.until_s = 4711, fake.clock() + 3.0

    fake.behave = along
    story = deploy(fake)
    assert (story.exit_code, story.error, fake.calls.count("unit_restart")) == (0, None, 2)


@dataclass
class LateStart(SlowStart):
    """A unit whose start systemd has queued until then: that of another unit, which it is ordered after, comes first."""

    down: str = "inactive"

    def properties(self) -> dict[str, str]:
        if self.now() >= self.until_s:
            return super().properties()
        return super().properties() | {
            "ActiveState": self.down,
            "SubState": self.down,
            "MainPID": "0",
            "Job": "824",
        }


@pytest.mark.parametrize("down", ["inactive", "failed"])
def test_a_unit_whose_start_is_queued_is_waited_for_however_its_stop_ended(down: str) -> None:
    """What does not end well on SIGTERM, or has to be killed, is failed between the two halves of its restart."""
    fake = FakeHost(host=PATIENT)
    old = fake.units["decode.service"]
    late = LateStart(old.unit, old.environ, old.pid, now=fake.clock, down=down)
    fake.units["decode.service"] = late

    def queued(unit: RunningUnit) -> None:
        if unit is late:
            late.until_s = fake.clock() + 3.0

    fake.behave = queued
    story = deploy(fake)
    assert (story.exit_code, story.error, fake.clock() >= late.until_s > 0) == (0, None, True)


class LateJournal(FakeHost):
    """A host whose journal takes a process' last words after systemd has told its death."""

    says = ("exited", "exited", "exited\ntold to crash") + 9 * ("exited\ntold to crash",)

    def _journal(self, unit: str, **_: Any) -> dict[str, str]:
        return {"text": self.says[self.calls.count("journal") - 1]}


def test_the_last_words_of_a_dying_process_are_waited_for() -> None:
    assert waiting.journal(work_on(LateJournal()), "decode.service") == "exited\ntold to crash"


@dataclass
class Loading(FakeHost):
    """A host whose prefill answers after 8 s; `meanwhile` is what else happens on it, before every call."""

    meanwhile: Callable[[FakeHost], None] = lambda fake: None

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        self.meanwhile(self)
        return super().call(name, deadline_s=deadline_s, **args)

    def get(self, url: str, **options: Any) -> Response:
        if url == self.host.units[0].health and self.clock.now < 8:
            raise TunnelRefused(f"{url}: connection refused")
        return super().get(url, **options)


def loading(meanwhile: Callable[[FakeHost], None]) -> Loading:
    return Loading(host=PATIENT, files=dict(RIGHT), meanwhile=meanwhile)


def restarted_by_hand(fake: FakeHost) -> None:
    fake.units["decode.service"].pid = 101 if fake.clock.now < 4 else 777


def started_after_prefill(fake: FakeHost) -> None:
    fake.units["decode.service"].active = "inactive" if fake.clock.now < 8 else "active"


def started_a_little_later(fake: FakeHost) -> None:
    fake.units["decode.service"].active = "inactive" if fake.clock.now < 8.5 else "active"


@pytest.mark.parametrize("meanwhile", [restarted_by_hand, started_after_prefill, started_a_little_later])
def test_what_starts_while_another_unit_is_waited_for_has_not_crashed(
    meanwhile: Callable[[FakeHost], None],
) -> None:
    work = work_on(loading(meanwhile))
    assert waiting.all_up(work)
    assert [finding.outcome.value for finding in work.run.findings] == ["pass"] * 3


def test_a_unit_that_was_to_run_through_may_not_restart_while_another_is_waited_for() -> None:
    work = work_on(loading(restarted_by_hand))
    assert not waiting.all_up(work, waiting.Watch.start(work))
    (found,) = (finding for finding in work.run.findings if finding.outcome.value == "fail")
    assert found.message.startswith("decode: crashed while we asked: MainPID was 101, is 777")


@pytest.mark.parametrize(
    ("planning_s", "found"), [(0.0, "router.service crashed"), (1.0, "router: crashed while we asked")]
)
def test_a_crash_between_the_lock_and_the_proof_ends_a_deploy_that_restarts_nothing(
    planning_s: float, found: str
) -> None:
    """A look that planning again made old is not taken for what asking now would show."""
    fake = FakeHost(files=dict(RIGHT))

    def pass_time(event: Any) -> None:
        if isinstance(event, StepStarted) and event.name == "observe again":
            fake.clock.sleep(planning_s)
        if isinstance(event, StepStarted) and event.name == "preflight":
            fake.units["router.service"].pid, fake.units["router.service"].restarts = 4711, 1

    story = deploy(fake, listeners=[pass_time])
    told = [str(story.error), *(finding.message for finding in story.findings)]
    assert (story.exit_code, fake.calls.count("unit_restart")) == (1, 0)
    assert [text for text in told if text.startswith(f"{found}: MainPID was 102, is 4711")]
