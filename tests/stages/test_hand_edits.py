from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runbook import ending, rollout
from runbook.events import Note
from runbook.options import Options
from runbook.stages import before
from tests.building import DECODE
from tests.fakehost import FakeHost
from tests.test_rollout import a_host, deploy, rollback, work_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.story import Story


def edited(more: bytes) -> tuple[FakeHost, str]:
    fake = FakeHost()
    deploy(fake)
    fake.files[DECODE] += more
    story = rollback(fake)
    assert story.exit_code == 2
    return fake, str(story.error)


def test_a_rollback_over_hand_edits_is_refused_with_their_diff() -> None:
    _, message = edited(b"export A=1\n")
    assert message.startswith(f"{DECODE} was edited by another hand since release")
    assert f"--- {DECODE}" in message
    assert "\n+export A=1" in message


def test_a_refused_rollback_says_where_it_would_go_and_how_the_current_release_is_put_back() -> None:
    fake, message = edited(b"export A=1\n")
    here = fake.current or ""
    parent = fake.releases[here]["parent"]
    assert message.splitlines()[1:6] == [
        f"to put back {here}, the current one:",
        f"  ./invoke rollback --host gpu1 --to {here} --force",
        f"to go to {parent}, its parent:",
        f"  ./invoke rollback --host gpu1 --to {parent} --force",
        "--force saves what is there as a release first, and goes there all the same",
    ]
    to_here = str(rollback(fake, Options(to=here)).error).splitlines()
    assert to_here[2:4] == [f"  ./invoke rollback --host gpu1 --to {here} --force", message.splitlines()[5]]
    assert str(parent) not in "".join(to_here)


def test_every_command_that_a_refused_rollback_names_is_taken_and_does_what_it_says() -> None:
    fake, _ = edited(b"export A=1\n")
    here, wanted = fake.current or "", fake.files[DECODE].replace(b"export A=1\n", b"")
    story = rollback(fake, Options(to=here, force=True))
    assert (story.exit_code, fake.files[DECODE], fake.current) == (0, wanted, here)


def test_a_rollback_that_has_nowhere_to_go_says_how_a_hand_edit_of_the_first_release_is_undone() -> None:
    fake = FakeHost()
    deploy(fake)
    (first,) = (one["id"] for one in fake.releases.values() if one["parent"] is None)
    assert rollback(fake, Options(to=first)).exit_code == 0
    for force in (False, True):
        fake.files[DECODE] = b"export A=1\n"
        told = str(rollback(fake, Options(force=force)).error).splitlines()
        assert told[0].endswith(f"{DECODE} was edited by another hand since release {first}")
        assert told[1:3] == [
            f"to put back {first}, the current one:",
            f"  ./invoke rollback --host gpu1 --to {first} --force",
        ]


def test_who_confirms_a_rollback_is_told_where_it_goes() -> None:
    fake, _ = edited(b"export A=1\n")
    parent = fake.releases[fake.current or ""]["parent"]
    asked: list[str] = []

    def declined(question: str) -> bool:
        asked.append(question)
        return False

    fake.lock = None
    rollout.rollback(work_on(fake)._replace(confirm=declined), Options(force=True))
    assert asked == [f"apply this plan to gpu1, back to release {parent}?"]


def fails_after_an_edit(page: Callable[..., Story], more: bytes = b"export A=1\n") -> tuple[Story, str]:
    """A page on a host whose decode does not come up any more since a hand edited its script; and the release before."""
    fake = a_host()
    deploy(fake)
    here = fake.current or ""
    fake.files[DECODE] += more
    fake.ctimes[DECODE] = fake.clock.now + 100
    fake.behave = lambda unit: setattr(unit, "active", "failed")
    fake.units["decode.service"].active = "failed"
    fake.lock = None
    return page(work_on(fake), Options(units=("decode",))), here


@pytest.mark.parametrize("page", [rollout.restart, rollout.deploy])
def test_what_fails_on_a_script_that_a_hand_edited_says_so_and_how_it_was_before(
    page: Callable[..., Story],
) -> None:
    story, here = fails_after_an_edit(page)
    assert (story.exit_code, story.rolled_back_to) == (1, None)
    assert ending.lines(story.document())[-3:] == [
        f"  {DECODE} was edited by another hand since release {here}",
        "  to put that release back:",
        f"    ./invoke rollback --host gpu1 --to {here} --force",
    ]


@pytest.mark.parametrize("page", [rollout.restart, rollout.deploy])
def test_what_fails_on_scripts_that_no_hand_edited_speaks_of_none(page: Callable[..., Story]) -> None:
    story, _ = fails_after_an_edit(page, b"")
    assert story.exit_code == 1
    assert "another hand" not in "".join(ending.lines(story.document()))


def test_what_passes_on_an_edited_script_needs_no_way_back() -> None:
    fake = a_host()
    deploy(fake)
    fake.files[DECODE] += b"export A=1\n"
    fake.lock = None
    story = rollout.restart(work_on(fake), Options(units=("decode",)))
    assert story.exit_code == 0
    assert "put that release back" not in "".join(ending.lines(story.document()))


def test_a_forced_rollback_names_the_release_that_the_hand_edit_was_saved_as() -> None:
    fake, _ = edited(b"export A=1\n")
    known = set(fake.releases)
    story = rollback(fake, Options(force=True))
    (saved,) = set(fake.releases) - known
    assert f"  what was there before is kept as release {saved}" in ending.lines(story.document())


def test_secrets_in_hand_edits_stay_on_the_host() -> None:
    _, message = edited(b"export HF_TOKEN=hf_abcdef\n")
    assert "hf_abcdef" not in message
    assert "+export HF_TOKEN=***" in message


def test_a_rewritten_file_fills_no_screen() -> None:
    _, message = edited(b"echo line\n" * 500)
    diff = message[message.index("--- ") :]
    assert len(diff.splitlines()) == before.DIFF_LINES + 1
    assert message.endswith("more lines)")


def test_a_file_taken_away_by_hand_is_shown_as_gone() -> None:
    fake = FakeHost()
    deploy(fake)
    del fake.files[DECODE]
    message = str(rollback(fake).error)
    assert "+++ /dev/null" in message


def test_a_damaged_release_refuses_all_the_same_without_a_diff() -> None:
    fake = FakeHost()
    deploy(fake)
    fake.files[DECODE] += b"export A=1\n"
    here = fake.current or ""
    read = fake._release_read

    def damaged(state: str, id: str) -> object:
        if id == here:
            from runbook.errors import PreflightError

            raise PreflightError("as saved it is damaged")
        return read(state, id)

    fake._release_read = damaged  # type: ignore[method-assign, assignment]
    story = rollback(fake)
    assert story.exit_code == 2
    assert "---" not in str(story.error)


def test_a_release_tells_how_the_units_stood_when_it_was_made() -> None:
    fake = FakeHost()
    fake.units["decode.service"].restarts = 7
    deploy(fake)
    (adopted,) = (one for one in fake.releases.values() if one["verdict"] == "adopted")
    assert adopted["units"]["decode.service"]["ActiveState"] == "active"
    assert adopted["units"]["decode.service"]["NRestarts"] == "7"


def test_a_rollback_to_where_the_host_is_says_so() -> None:
    fake = FakeHost()
    deploy(fake)
    notes: list[str] = []
    hear = [lambda event: notes.append(event.text) if isinstance(event, Note) else None]
    story = rollback(fake, Options(to=fake.current), listeners=hear)
    assert story.exit_code == 0
    assert [note for note in notes if note.startswith(f"already at release {fake.current}")]
