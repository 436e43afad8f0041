"""From the first written file on, whatever the host refuses ends as a gate does: back at the parent, exit 1, or 4 where not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from runbook import rollout
from runbook.errors import FileChangedError, HelperError, LinkLostError, PreflightError, RunbookError
from runbook.events import Note
from runbook.model import Policy
from runbook.options import Options
from runbook.story import Defect
from tests.building import DECODE, TOPK
from tests.test_rollout import a_host, corrupt, deploy, with_a_drop_in, work_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.story import Story
    from tests.fakehost import FakeHost

REFUSED = PreflightError("systemctl daemon-reload: exit 1: no space left on device")


@dataclass
class Refusing:
    """A call of the fake host that is refused some times, from the n-th on, and then works again."""

    works: Callable[..., Any]
    error: BaseException
    first: int
    times: int
    asked: int = 0

    def __call__(self, **args: Any) -> Any:
        self.asked += 1
        if self.first <= self.asked < self.first + self.times:
            raise self.error
        return self.works(**args)


def refuse(fake: FakeHost, call: str, error: BaseException, *, first: int = 1, times: int = 1) -> None:
    setattr(fake, f"_{call}", Refusing(getattr(fake, f"_{call}"), error, first, times))


def assert_back(fake: FakeHost, story: Story, before: dict[str, bytes]) -> None:
    assert fake.files == before
    assert fake.current == story.rolled_back_to
    assert fake.inflight is None
    assert fake.audit[-1]["rolled_back_to"] == story.rolled_back_to
    assert fake.units["decode.service"].environ[TOPK] == "0"


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ({"mended": [DECODE], "damaged": []}, f"was damaged and is whole again: {DECODE}"),
        ({"mended": [], "damaged": [DECODE]}, f"a rollback to it cannot give back: {DECODE}"),
        ({"mended": [], "damaged": []}, ""),
    ],
    ids=["mended", "damaged", "whole"],
)
def test_before_the_first_write_damage_on_the_way_back_is_told(kept: dict[str, list[str]], told: str) -> None:
    notes: list[str] = []
    fake = a_host(kept=kept)
    deploy(fake, listeners=[lambda event: notes.append(event.text) if isinstance(event, Note) else None])
    found = [note for note in notes if "damaged" in note]
    assert [note.endswith(told) for note in found] == ([True] if told else [])


def test_a_daemon_reload_that_fails_goes_back() -> None:
    fake = with_a_drop_in(declared=True)
    before = dict(fake.files)
    refuse(fake, "daemon_reload", REFUSED)
    story = deploy(fake)
    assert story.exit_code == 1
    assert str(story.error) == f"{REFUSED} (after the files were written)"
    assert "unit_restart" not in fake.calls, "what runs was never touched"
    assert fake.releases[story.release or ""]["verdict"] == "failed"
    assert_back(fake, story, before)


def test_a_daemon_reload_that_fails_on_the_way_back_too_needs_a_person() -> None:
    fake = with_a_drop_in(declared=True)
    refuse(fake, "daemon_reload", REFUSED, times=9)
    story = deploy(fake)
    assert story.exit_code == 4
    assert str(REFUSED) in str(story.error)
    assert fake.inflight is not None, "status tells of it until somebody settles it"


@pytest.mark.parametrize(("call", "first"), [("release_read", 1), ("observe", 4)])
def test_a_way_back_that_cannot_be_planned_needs_a_person(call: str, first: int) -> None:
    fake = a_host(load=corrupt)
    refuse(fake, call, PreflightError("objects/ab is damaged"), first=first, times=9)
    story = deploy(fake)
    assert (story.exit_code, story.rolled_back_to) == (4, None)
    assert "objects/ab is damaged" in str(story.error)


def test_the_policy_may_keep_what_a_refusal_ended() -> None:
    fake = with_a_drop_in(declared=True)
    kept = fake.host._replace(policy=Policy(on_unhealthy="keep"))
    refuse(fake, "daemon_reload", REFUSED)
    story = deploy(fake, wanted=kept)
    assert (story.exit_code, story.rolled_back_to) == (1, None)
    assert fake.current == story.release


@pytest.mark.parametrize("call", ["release_save", "set_current"])
def test_a_release_that_cannot_be_kept_takes_its_files_back(call: str) -> None:
    fake = a_host()
    before = dict(fake.files)
    refuse(fake, call, PreflightError("no room"), first=2)  # the first keeps what was there
    story = deploy(fake)
    assert (story.exit_code, str(story.error)) == (1, "no room (after the files were written)")
    assert_back(fake, story, before)


@pytest.mark.parametrize("error", [FileChangedError("changed"), PreflightError("no room")])
def test_files_that_were_never_written_leave_nothing_to_go_back_from(error: RunbookError) -> None:
    fake = a_host()
    before = dict(fake.files)
    refuse(fake, "files_write", error)
    story = deploy(fake)
    assert (story.exit_code, story.rolled_back_to, fake.files) == (2, None, before)
    assert fake.calls.count("files_write") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [(PreflightError("read-only file system"), 1), (HelperError("record_start: KeyError: 'pid'"), 70)],
    ids=["refused", "a defect of the helper's"],
)
def test_whatever_the_helper_answers_once_units_restart_goes_back(error: RunbookError, code: int) -> None:
    fake = a_host()
    before = dict(fake.files)
    refuse(fake, "record_start", error)
    story = deploy(fake)
    assert story.exit_code == code
    assert_back(fake, story, before)


def test_a_lost_link_leaves_it_to_whoever_comes_next() -> None:
    fake = a_host()
    refuse(fake, "record_start", LinkLostError("the link is gone"))
    story = deploy(fake)
    assert (story.exit_code, story.rolled_back_to) == (7, None)
    assert fake.inflight is not None


def test_a_verdict_that_cannot_be_written_keeps_corruption_from_nothing() -> None:
    fake = a_host(load=corrupt)
    before = dict(fake.files)
    refuse(fake, "release_update", PreflightError("no room"))
    story = deploy(fake)
    assert story.exit_code == 1
    assert fake.releases[story.release or ""]["verdict"] == "unproven"
    assert_back(fake, story, before)


def test_a_defect_of_ours_keeps_the_story_as_told_so_far() -> None:
    fake = a_host()
    refuse(fake, "record_start", ZeroDivisionError("by nobody"))
    fake.lock = None
    with pytest.raises(Defect, match="by nobody") as caught:
        rollout.deploy(work_on(fake), Options())
    told = caught.value.story.document()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert (told["exit_code"], told["error"], told["outcome"]) == (70, "by nobody", "error")
    assert [change["path"] for change in told["plan"]["changes"]]
    assert told["release"] == fake.current
    assert told["audit"]["seq"] == 1
    assert fake.inflight is not None
