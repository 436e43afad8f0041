"""Where a rollback goes: never by itself to a release whose rollout was interrupted, nor to one that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runbook import ending, lineage, rollout
from runbook.errors import PreflightError
from runbook.events import Note
from runbook.options import Options
from tests.building import OVERLAP
from tests.stages.test_inflight import Cut, cut
from tests.test_leftovers import with_set
from tests.test_rollout import StopAt, a_host, clean, corrupt, deploy, rollback, work_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.story import Story
    from tests.fakehost import FakeHost

BAD: dict[str, str | None] = {
    OVERLAP: "1"
}  # of which the next plain deploy makes the host file's value again


def stopped(fake: FakeHost, **fields: Any) -> str:
    """A deploy of a worse value that Ctrl-C ended in the middle; the release it leaves."""
    operator = StopAt("StepStarted restart decode")
    story = with_set(fake, BAD, listeners=[operator], checkpoint=operator.checkpoint, **fields)
    assert story.exit_code == 130
    return str(story.release)


def lost(fake: Cut) -> str:
    """The same, whose link was lost."""
    fake.cut_in, fake.nth = "unit_restart", 1
    story = with_set(fake, BAD)
    assert story.exit_code == 7
    fake.lost = False
    return str(story.release)


def deployed() -> tuple[Cut, str]:
    """A host that serves, and its release."""
    fake = cut("never")
    return fake, str(deploy(fake).release)


def way_back(story: Story) -> list[str]:
    lines = ending.lines(story.document())
    at = next(number for number, line in enumerate(lines) if line.startswith("  to go back"))
    return [line.strip() for line in lines[at : at + 2]]


def notes(fake: FakeHost, options: Options) -> list[str]:
    heard: list[str] = []
    fake.lock = None
    rollout.rollback(
        work_on(
            fake, listeners=[lambda event: heard.append(event.text) if isinstance(event, Note) else None]
        ),
        options,
    )
    return heard


@pytest.mark.parametrize("interrupted", [stopped, lost])
def test_after_an_interrupted_deploy_and_the_next_the_way_back_is_what_ran_before_both(
    interrupted: Callable[[Cut], str],
) -> None:
    fake, good = deployed()
    between = interrupted(fake)
    story = deploy(fake)
    assert fake.releases[str(story.release)]["parent"] == between
    assert way_back(story) == [
        f"to go back, past {between}, which {lineage.NEVER_RAN}:",
        f"./invoke rollback --host gpu1 --to {good}",
    ]
    said = f"back to release {good}, unproven; past {between}, which never fully ran (its rollout was interrupted)"
    assert said in notes(fake, Options(dry_run=True))
    assert rollback(fake).rolled_back_to == good


@pytest.mark.parametrize("interrupted", [stopped, lost])
def test_an_interrupted_release_that_a_later_deploy_settles_in_place_is_a_good_one(
    interrupted: Callable[[Cut], str],
) -> None:
    fake, _ = deployed()
    between = interrupted(fake)
    assert fake.releases[between]["unfinished"] is True
    assert with_set(fake, BAD).release == between
    assert fake.releases[between]["unfinished"] is False
    assert way_back(deploy(fake)) == ["to go back:", f"./invoke rollback --host gpu1 --to {between}"]
    assert rollback(fake).rolled_back_to == between


def test_one_that_a_rollback_brings_to_its_end_is_a_good_one_too() -> None:
    fake, _ = deployed()
    between = lost(fake)
    deploy(fake)
    assert rollback(fake, Options(to=between)).exit_code == 0
    assert fake.releases[between]["unfinished"] is False


def test_one_that_was_stopped_when_all_of_it_ran_and_only_its_proof_was_left_is_a_good_one() -> None:
    fake = a_host()
    deploy(fake)
    operator = StopAt("StepStarted validate final80")
    story = with_set(fake, BAD, listeners=[operator], checkpoint=operator.checkpoint)
    between = str(story.release)
    assert (story.exit_code, fake.releases[between]["unfinished"]) == (130, False)
    assert fake.releases[between]["verdict"] == "unproven"
    deploy(fake)
    assert rollback(fake).rolled_back_to == between


def test_where_a_kept_release_goes_back_to_past_an_interrupted_one_is_kept_too() -> None:
    fake, good = deployed()
    fake.host = fake.host._replace(keep_releases=3)
    stopped(fake)
    for name in ("A", "B"):
        second = str(with_set(fake, {name: "1"}).release)
    first = str(fake.releases[second]["parent"])
    assert rollback(fake).rolled_back_to == first
    assert rollback(fake).rolled_back_to == good


def test_one_that_was_interrupted_once_more_is_not() -> None:
    fake, good = deployed()
    between = lost(fake)
    operator = StopAt("StepStarted ready")
    with_set(fake, BAD, listeners=[operator], checkpoint=operator.checkpoint)
    assert fake.releases[between]["unfinished"] is True
    deploy(fake)
    assert rollback(fake).rolled_back_to == good


def test_an_interrupted_rollout_is_gone_back_from_past_an_earlier_one() -> None:
    fake, good = deployed()
    first = lost(fake)
    fake.cut_in, fake.nth = "set_current", 1
    deploy(fake)
    fake.lost = False
    assert fake.inflight["parent"] == first
    assert rollback(fake).rolled_back_to == good


def test_an_interrupted_rollback_goes_on_to_where_it_was_told_to_go() -> None:
    fake, _ = deployed()
    between = lost(fake)
    deploy(fake)
    fake.cut_in, fake.nth = "unit_restart", 1
    rollback(fake, Options(to=between))
    fake.lost = False
    assert fake.inflight["action"] == "rollback"
    assert rollback(fake).rolled_back_to == between


def test_what_a_lost_rollout_wrote_without_a_release_is_kept_and_not_gone_back_to() -> None:
    fake, good = deployed()
    fake.cut_in, fake.nth = "release_save", 1
    with_set(fake, BAD)
    fake.lost = False
    story = deploy(fake)
    kept = story.extra["kept_as"]
    assert fake.releases[kept]["verdict"] == "adopted"
    assert way_back(story)[1].endswith(f"--to {good}")
    assert rollback(fake).rolled_back_to == good


def test_the_bytes_of_a_good_release_that_a_lost_rollback_wrote_are_good_to_go_back_to() -> None:
    fake, good = deployed()
    bad = str(with_set(fake, BAD).release)
    fake.cut_in, fake.nth = "set_current", 1
    rollback(fake)
    fake.lost = False
    assert (fake.current, fake.files) == (bad, fake.stored[good])
    kept = str(with_set(fake, BAD).extra["kept_as"])
    assert fake.releases[kept]["unfinished"] is False
    assert rollback(fake).rolled_back_to == kept
    assert fake.files == fake.stored[good]


def test_a_failed_release_is_gone_past_too() -> None:
    keeps = a_host().host.policy._replace(on_corrupt="keep")
    fake = a_host()
    fake.host = fake.host._replace(policy=keeps)
    good = str(deploy(fake).release)
    fake.load = corrupt
    failed = str(with_set(fake, BAD).release)
    fake.load = clean
    deploy(fake)
    assert fake.releases[failed]["verdict"] == "failed"
    assert rollback(fake).rolled_back_to == good


def test_where_nothing_good_is_left_a_rollback_goes_to_the_parent_and_says_loudly_what_it_is() -> None:
    fake, good = deployed()
    between = lost(fake)
    deploy(fake)
    for name in [name for name in fake.releases if name not in (between, fake.current)]:
        del fake.releases[name]
    assert good not in fake.releases
    (said,) = (note for note in notes(fake, Options(dry_run=True)) if note.startswith("back to"))
    assert said == (
        f"back to release {between}, unproven; WARNING: it never fully ran (its rollout was interrupted), "
        "and so it is with every release before it"
    )


def test_a_deploy_that_turns_out_bad_goes_back_past_an_interrupted_one_by_itself() -> None:
    fake = a_host()
    good = str(deploy(fake).release)
    stopped(fake)
    before = dict(fake.files)
    fake.load = corrupt
    story = deploy(fake)
    assert (story.exit_code, story.rolled_back_to) == (1, good)
    assert fake.files != before


def test_it_goes_back_by_itself_to_nothing_that_never_ran() -> None:
    fake = a_host()
    deploy(fake)
    between = stopped(fake)
    for name in [name for name in fake.releases if name != between]:
        del fake.releases[name]
    fake.load = corrupt
    story = deploy(fake)
    assert (story.exit_code, story.rolled_back_to) == (1, None)
    assert way_back(story)[0] == (
        "to go back (WARNING: to a release that never fully ran (its rollout was interrupted); none before it is better):"
    )


def test_ctrl_c_offers_the_release_before_an_interrupted_one() -> None:
    fake, good = deployed()
    lost(fake)
    asked: list[str] = []

    def yes(question: str) -> bool:
        asked.append(question)
        return True

    operator = StopAt("StepStarted ready")
    story = deploy(fake, listeners=[operator], checkpoint=operator.checkpoint, offer=yes)
    assert asked == [f"stopped; roll back to {good} now?"]
    assert story.rolled_back_to == good


def test_a_host_that_measures_nothing_has_good_releases_all_the_same() -> None:
    fake, first = deployed()
    second = str(with_set(fake, BAD).release)
    assert fake.releases[second]["verdict"] == "unproven"
    deploy(fake)
    assert rollback(fake).rolled_back_to == second
    assert rollback(fake).rolled_back_to == first


def test_that_a_release_came_to_its_end_and_could_not_be_written_is_said_and_fails_nothing() -> None:
    fake, _ = deployed()
    between = lost(fake)
    deploy(fake)
    update = fake._release_update

    def full(state: str, id: str, fields: dict[str, Any]) -> dict[str, Any]:
        if fields == {"unfinished": False}:
            raise PreflightError("no space left")
        return update(state, id, fields)

    fake._release_update = full  # type: ignore[method-assign]
    said = f"release {between} could not be told that it came to its end: no space left"
    assert said in notes(fake, Options(to=between))
    assert fake.current == between
