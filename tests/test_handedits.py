from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import pytest

from runbook import handedits, looking, rollout
from runbook.errors import MissingOnHostError, PreflightError
from runbook.events import Note
from runbook.options import Options
from tests.building import DECODE, PREFILL, file_state, host, observation, release, script
from tests.test_rollout import a_host, deploy, rollback, work_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.model import Observation
    from runbook.story import Story
    from tests.fakehost import FakeHost

OLD = observation()
NEW = observation(decode=script(A="1"))


def at(seen: Observation, **fields: Any) -> Observation:
    """What is on the disk, on a host whose current release is `new`, from `old`."""
    kept = (release("old", OLD, created="2025-12-01T00:00:00+00:00"), release("new", NEW, parent="old"))
    return seen._replace(releases=kept, current="new", **fields)


def without(*paths: str, error: str | None = None, denied: bool = False) -> dict[str, Any]:
    gone = {path: file_state(path, None)._replace(error=error, denied=denied) for path in paths}
    return {"files": {**NEW.files, **gone}}


def test_what_is_as_the_current_release_has_it_is_no_edit() -> None:
    assert handedits.of(at(NEW)) == ()
    assert handedits.of(NEW) == ()


def test_a_file_that_nobody_keeps_was_edited_by_another_hand() -> None:
    (edit,) = handedits.of(at(observation(decode=script(A="2"))))
    assert (edit.path, edit.kept_by) == (DECODE, None)
    assert edit.told == f"{DECODE} was edited by another hand since release new"


def test_a_file_as_another_release_has_it_names_that_release() -> None:
    (edit,) = handedits.of(at(OLD))
    assert edit.told == f"{DECODE} is as release old has it, not release new"


def test_a_file_that_is_gone_was_not_edited() -> None:
    (edit,) = handedits.of(at(NEW, **without(DECODE)))
    assert edit.told == f"{DECODE} is gone since release new, by another hand"


def test_what_an_interrupted_rollout_wrote_is_nobodys_hand() -> None:
    assert handedits.of(at(OLD, inflight={"parent": "old"})) == ()


def refusal(seen: Observation) -> str:
    with pytest.raises(MissingOnHostError) as caught:
        handedits.require_scripts(host(), seen)
    return str(caught.value)


def test_a_script_that_is_gone_comes_with_the_command_that_puts_it_back() -> None:
    assert refusal(at(NEW, **without(PREFILL))).splitlines() == [
        f"gpu1: not on the host: script {PREFILL}; nothing was changed",
        "release new has it, the current one; to put it back:",
        "  ./invoke rollback --host gpu1 --to new --force",
    ]


def test_a_script_that_only_an_older_release_has_names_that_one() -> None:
    seen = at(NEW, **without(PREFILL))
    lost = release("newer", seen)._replace(created="2026-02-01T00:00:00+00:00")
    told = refusal(seen._replace(releases=(*seen.releases, lost), current="newer"))
    assert told.splitlines()[1:] == [
        "release new has it; to put it back:",
        "  ./invoke rollback --host gpu1 --to new --force",
    ]


def test_a_script_that_no_release_has_is_to_be_put_there_by_hand() -> None:
    assert refusal(NEW._replace(**without(PREFILL))).endswith(
        "no release on the host has it: put it back there, or name another script in the host file"
    )


@pytest.mark.parametrize("denied", [True, False])
def test_a_script_that_cannot_be_read_has_no_such_way_back(denied: bool) -> None:
    with pytest.raises(PreflightError) as caught:
        handedits.require_scripts(host(), at(NEW, **without(PREFILL, error="no", denied=denied)))
    assert "rollback" not in str(caught.value)


def test_a_file_that_may_not_be_read_was_edited_by_nobody() -> None:
    assert handedits.of(at(NEW, **without(PREFILL, error="Permission denied", denied=True))) == ()


# ------------------------------------------------------------------ as it goes on a host


def deployed() -> FakeHost:
    fake = a_host()
    deploy(fake)
    fake.lock = None
    return fake


def heard(page: Callable[..., Story], fake: FakeHost, **options: Any) -> tuple[Story, list[str]]:
    """A page's story, and what it noted."""
    notes: list[str] = []
    hear = [lambda event: notes.append(event.text) if isinstance(event, Note) else None]
    fake.lock, fake.mode = None, "running" if page is rollout.check else "writing"
    return page(work_on(fake, listeners=hear), Options(**options)), notes


@pytest.mark.parametrize("page", [looking.plan, rollout.deploy, rollout.check])
def test_what_would_be_written_over_is_told_once(page: Callable[..., Story]) -> None:
    fake = deployed()
    here = fake.current
    fake.files[DECODE] += b"# by hand\n"
    story, notes = heard(page, fake)
    assert story.error is None
    assert notes.count(f"{DECODE} was edited by another hand since release {here}") == 1


@pytest.mark.parametrize("page", [looking.plan, rollout.deploy, rollout.check])
def test_the_way_out_that_is_told_of_a_missing_script_is_one(page: Callable[..., Story]) -> None:
    fake = deployed()
    here, kept = fake.current, fake.files[PREFILL]
    del fake.files[PREFILL]
    story, _ = heard(page, fake)
    assert story.exit_code == 2
    *_, to, force = shlex.split(str(story.error).splitlines()[-1])
    assert (to, force) == (here, "--force")
    back = rollback(fake, options=Options(to=to, force=True))
    assert (back.exit_code, fake.current, fake.files[PREFILL]) == (0, here, kept)
    assert heard(page, fake)[0].exit_code == 0


def test_bytes_that_another_release_keeps_are_not_lost_and_stop_no_rollback() -> None:
    fake = a_host()
    before = dict(fake.files)
    deploy(fake)
    parent = fake.releases[fake.current or ""]["parent"]
    fake.files |= before  # what restore.sh of the release before does
    fake.lock = None
    story, notes = heard(rollout.rollback, fake)
    assert (story.exit_code, story.rolled_back_to) == (0, parent)
    assert any(note.startswith(f"{DECODE} is as release {parent} has it") for note in notes)
