from __future__ import annotations

from typing import Any

from runbook.events import Progress
from runbook.model import Budget, Wait
from runbook.verify import waiting
from tests.building import host
from tests.fakehost import FakeHost, RunningUnit
from tests.test_rollout import work_on


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


class LateJournal(FakeHost):
    """A host whose journal takes a process' last words after systemd has told its death."""

    says = ("exited", "exited", "exited\ntold to crash") + 9 * ("exited\ntold to crash",)

    def _journal(self, unit: str, **_: Any) -> dict[str, str]:
        return {"text": self.says[self.calls.count("journal") - 1]}


def test_the_last_words_of_a_dying_process_are_waited_for() -> None:
    assert waiting.journal(work_on(LateJournal()), "decode.service") == "exited\ntold to crash"
