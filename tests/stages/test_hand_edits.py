from __future__ import annotations

from runbook import ending
from runbook.events import Note
from runbook.options import Options
from runbook.stages import before
from tests.building import DECODE
from tests.fakehost import FakeHost
from tests.test_rollout import deploy, rollback


def edited(more: bytes) -> tuple[FakeHost, str]:
    fake = FakeHost()
    deploy(fake)
    fake.files[DECODE] += more
    story = rollback(fake)
    assert story.exit_code == 2
    return fake, str(story.error)


def test_a_rollback_over_hand_edits_is_refused_with_their_diff() -> None:
    _, message = edited(b"export A=1\n")
    assert f"{DECODE} changed since release" in message
    assert f"--- {DECODE}" in message
    assert "\n+export A=1" in message


def test_a_refused_rollback_says_where_it_would_go_and_how_the_current_release_is_put_back() -> None:
    fake, message = edited(b"export A=1\n")
    here = fake.current or ""
    parent = fake.releases[here]["parent"]
    assert f"--force saves what is there as a release and goes back to {parent} all the same" in message
    assert f"\n  ./invoke rollback --host gpu1 --to {here} --force\n" in message
    to_here = str(rollback(fake, Options(to=here)).error)
    assert f"goes back to {here} all the same\n--- " in to_here


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
