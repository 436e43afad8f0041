from __future__ import annotations

from typing import Any

import pytest

from runbook import rollout, screens
from runbook.errors import LinkLostError, PreflightError
from runbook.events import Event, Note
from runbook.options import Options
from runbook.stages import inflight
from tests.building import DECODE, host
from tests.fakehost import FakeHost
from tests.test_rollout import deploy, rollback, work_on


class Cut(FakeHost):
    """A host whose link is lost in the call of this name, on the nth time."""

    cut_in: str = ""
    nth: int = 1
    lost: bool = False

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        if name == self.cut_in:
            self.nth -= 1
            if self.nth <= 0:
                self.cut_in = "never again"
                self.lost = True
        if self.lost:
            raise LinkLostError("the link was lost")
        return super().call(name, deadline_s=deadline_s, **args)


def cut(name: str, nth: int = 1) -> Cut:
    fake = Cut(host=host())
    fake.cut_in, fake.nth = name, nth
    return fake


def marks(fake: FakeHost) -> list[tuple[str, bool]]:
    return [(step["name"], step["ended"] is not None) for step in fake.inflight["steps"]]


@pytest.mark.parametrize(
    ("call", "nth", "left"),
    [
        ("files_write", 1, [("write", False)]),
        ("unit_restart", 1, [("write", True), ("restart prefill", False)]),
        ("unit_restart", 2, [("write", True), ("restart prefill", True), ("restart decode", False)]),
    ],
)
def test_an_interrupted_deploy_leaves_what_is_done_and_where_it_stopped(
    call: str, nth: int, left: list[tuple[str, bool]]
) -> None:
    fake = cut(call, nth)
    assert deploy(fake).exit_code in (4, 7)
    assert (fake.inflight["action"], marks(fake)) == ("deploy", left)


def test_status_tells_in_one_line_what_was_interrupted() -> None:
    fake = cut("unit_restart", 2)
    deploy(fake)
    line = inflight.told(fake.inflight)
    assert line.startswith("deploy rollout-0 by ann@laptop, begun 2023-11-14T")
    assert line.endswith(
        ": done: write, restart prefill; stopped in: restart decode; the next deploy or rollback settles it"
    )


def test_an_interrupted_restart_without_edits_leaves_rollback_where_it_was() -> None:
    fake = Cut(host=host())
    deploy(fake)
    parent = fake.releases[fake.current or ""]["parent"]
    fake.units["decode.service"].active = "failed"
    fake.cut_in = "unit_restart"
    deploy(fake)
    assert (fake.inflight["parent"], marks(fake)) == (None, [("restart decode", False)])
    fake.lost = False
    story = rollback(fake)
    assert (story.exit_code, story.rolled_back_to, fake.inflight) == (0, parent, None)


def test_hand_edits_after_an_interrupted_restart_are_still_nobodys_to_lose() -> None:
    fake = Cut(host=host())
    deploy(fake)
    fake.units["decode.service"].active = "failed"
    fake.cut_in = "unit_restart"
    deploy(fake)
    fake.lost = False
    fake.files[DECODE] += b"# by hand\n"
    assert rollback(fake).exit_code == 2


def test_a_deploy_that_has_nothing_to_do_marks_nothing() -> None:
    fake = FakeHost()
    deploy(fake)
    fake.calls.clear()
    deploy(fake)
    assert "inflight_step" not in fake.calls


@pytest.mark.parametrize("doc", [{}, {"steps": "x"}, {"steps": [1]}, {"steps": [{}], "rollout": ["\x1b[2J"]}])
def test_a_damaged_book_is_told_all_the_same(doc: dict[str, Any]) -> None:
    assert "the next deploy or rollback settles it" in inflight.told(doc)
    shown = {"lock": None, "inflight": doc}
    assert all("\x1b" not in line for line in screens._under_way(shown))


def test_releases_beyond_keep_releases_go_after_a_deploy_and_are_named() -> None:
    fake = FakeHost(host=host(keep_releases=2))
    told: list[Event] = []
    for value in ("0", "1", "0", "1"):
        flags = tuple(
            flag._replace(value=value) if flag.value is not None else flag for flag in fake.host.flags
        )
        fake.lock = None
        fake.clock.sleep(1)
        work = work_on(fake, listeners=[told.append], wanted=fake.host._replace(flags=flags))
        assert rollout.deploy(work, Options(skip_validation=True)).exit_code == 0
    assert len(fake.releases) == 2
    assert {fake.current, fake.releases[fake.current or ""]["parent"]} == set(fake.releases)
    notes = [event.text for event in told if isinstance(event, Note) and "keep_releases: 2" in event.text]
    assert len(notes) == 3


def test_a_rollout_whose_record_cannot_be_kept_is_left_for_the_next_to_record() -> None:
    fake = FakeHost()
    deploy(fake)
    append = fake._audit_append

    def full(state: str, record: dict[str, Any], **more: Any) -> dict[str, Any]:
        raise PreflightError("the audit record does not fit on the disk")

    fake._audit_append = full  # type: ignore[method-assign, assignment]
    story = rollback(fake)
    assert (story.exit_code, story.rolled_back_to, fake.inflight["action"]) == (2, fake.current, "rollback")
    fake._audit_append = append  # type: ignore[method-assign]
    again = rollback(fake)
    assert (again.exit_code, fake.inflight) == (0, None)
