"""Two at work on one host: who came first is named, and what they do is nobody's crash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runbook import alongside, looking, observation, rollout
from runbook.events import Note
from runbook.options import Options
from runbook.verify import waiting
from tests.building import host
from tests.test_rollout import a_host, clean, deploy, work_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.story import Story
    from tests.fakehost import FakeHost

BOB = {"who": "bob@desk", "since": "07:00", "step": "restart prefill", "rollout": "x"}
LEFT: dict[str, Any] = {
    "rollout": "x",
    "who": "bob@desk",
    "since": "07:00",
    "action": "deploy",
    "parent": None,
    "steps": [],
}
BESIDE: dict[str, Any] = {
    "state": "/var/lib/runbook/gpu1", "units": ["decode.service"], "current": "r9", "created": "",
    "lock": None, "interrupted": False,
}  # fmt: skip


def settled(**fields: Any) -> FakeHost:
    fake = a_host()
    deploy(fake)
    fake.calls.clear()
    fake.lock = None
    for name, value in fields.items():
        setattr(fake, name, value)
    return fake


def heard(page: Callable[..., Story], fake: FakeHost, options: Options) -> tuple[Story, list[str]]:
    """A page's story, and what it noted."""
    notes: list[str] = []
    hear = [lambda event: notes.append(event.text) if isinstance(event, Note) else None]
    return page(work_on(fake, listeners=hear), options), notes


@pytest.mark.parametrize(
    "page",
    [rollout.deploy, rollout.check, rollout.validate, rollout.bench, rollout.rollback, rollout.restart],
)
def test_who_measures_or_changes_a_host_that_somebody_is_at_work_on_is_told_who_and_touches_nothing(
    page: Callable[..., Story],
) -> None:
    fake = settled(lock=BOB, inflight=LEFT)
    story = page(work_on(fake), Options())
    assert (story.exit_code, str(story.error)) == (
        6,
        "locked by bob@desk since 07:00, now at: restart prefill",
    )
    assert {"job_start", "unit_restart", "files_write", "lock"}.isdisjoint(fake.calls)


@pytest.mark.parametrize("page", [rollout.check, rollout.deploy])
def test_the_lock_of_another_host_file_of_the_same_units_counts_too(page: Callable[..., Story]) -> None:
    fake = settled(beside=[BESIDE | {"lock": BOB}])
    story = page(work_on(fake), Options())
    assert story.exit_code == 6
    assert str(story.error) == (
        "locked by bob@desk since 07:00, now at: restart prefill, by /var/lib/runbook/gpu1, which has decode.service, too"
    )


@pytest.mark.parametrize(
    "page", [looking.plan, rollout.deploy, rollout.bench, rollout.rollback, rollout.restart]
)
def test_a_dry_run_shows_its_plan_all_the_same_and_says_who_is_at_work(page: Callable[..., Story]) -> None:
    fake = settled(lock=BOB, inflight=LEFT)
    story, notes = heard(page, fake, Options(dry_run=True))
    assert story.error is None
    said = "!! locked by bob@desk since 07:00, now at: restart prefill: what is seen may change"
    assert notes.count(said) == 1


def test_a_rollout_whose_owner_is_gone_by_the_time_we_hold_the_lock_is_settled_first() -> None:
    fake = settled()

    def meanwhile(question: str) -> bool:
        fake.inflight = LEFT
        return True

    story = rollout.restart(work_on(fake)._replace(confirm=meanwhile), Options(units=("decode",)))
    assert (story.exit_code, "nothing was restarted" in str(story.error)) == (2, True)
    assert "unit_restart" not in fake.calls


@pytest.mark.parametrize("page", [looking.plan, rollout.check, rollout.deploy, looking.status])
def test_another_service_directory_with_releases_of_the_same_units_is_a_warning(
    page: Callable[..., Story],
) -> None:
    fake = settled(beside=[BESIDE])
    _, notes = heard(page, fake, Options(skip_validation=True))
    said = (
        "warning: /var/lib/runbook/gpu1 on this host also keeps releases of decode.service: "
        "host files of one service must share service: and state_dir"
    )
    assert notes.count(said) == 1


def test_status_says_who_is_at_work_by_another_host_file() -> None:
    _, notes = heard(looking.status, settled(beside=[BESIDE | {"lock": BOB}]), Options())
    assert any(
        note.startswith("locked by bob@desk since 07:00, now at: restart prefill, by /var") for note in notes
    )


def test_the_warning_is_in_the_document_too() -> None:
    story, _ = heard(rollout.check, settled(beside=[BESIDE]), Options(skip_validation=True))
    assert [said[:36] for said in story.document()["warnings"]] == ["warning: /var/lib/runbook/gpu1 on th"]


def test_a_rollback_without_a_release_of_its_own_names_the_directory_that_has_some() -> None:
    story, notes = heard(rollout.rollback, a_host(beside=[BESIDE]), Options(dry_run=True))
    assert "no release on this host yet" in str(story.error)
    assert any("/var/lib/runbook/gpu1 on this host also keeps releases" in note for note in notes)


# ------------------------------------------------------------------ a rollout that begins while we measure


def restarted_by(fake: FakeHost, **left: Any) -> Callable[[list[str]], dict[str, Any]]:
    """A load during which prefill gets another process; `left` is what the host shows of why."""

    def load(argv: list[str]) -> dict[str, Any]:
        fake.units["prefill.service"].pid += 1
        for name, value in left.items():
            setattr(fake, name, value)
        return clean(argv)

    return load


RECORD = {"id": "x", "action": "restart", "operator": {"user": "bob", "host": "desk"}, "restarts": [{}]}


@pytest.mark.parametrize("page", [rollout.check, rollout.validate])
@pytest.mark.parametrize(
    ("left", "whose"),
    [
        ({"lock": BOB, "inflight": LEFT}, "bob@desk's deploy"),
        ({"lock": {}}, "somebody's rollout"),
        ({"beside": [BESIDE | {"lock": BOB}]}, "bob@desk's rollout"),
        ({"audit": [RECORD]}, "bob@desk's restart"),
        ({"current": "another"}, "somebody's rollout"),
    ],
)
def test_what_somebodys_rollout_restarts_while_we_measure_is_inconclusive_and_no_crash(
    page: Callable[..., Story], left: dict[str, Any], whose: str
) -> None:
    fake = settled(mode="running")
    if "audit" in left:
        left = {"audit": [*fake.audit, *left["audit"]]}
    fake.load = restarted_by(fake, **left)
    story = page(work_on(fake), Options())
    assert (story.exit_code, story.outcome.value, story.error) == (3, "inconclusive", None)
    found = story.findings[-1]
    assert found.message == (
        f"prefill.service was restarted by {whose} meanwhile (MainPID was 1001, is 1002): what was measured says nothing"
    )
    assert [run["name"] for run in story.measured.validations] == ["final80"]


@pytest.mark.parametrize("record", [RECORD | {"restarts": []}, RECORD | {"action": "verify"}, None])
def test_a_crash_in_which_nobody_had_a_hand_is_one(record: dict[str, Any] | None) -> None:
    fake = settled(mode="running")
    fake.load = restarted_by(fake, audit=[*fake.audit, *([record] if record else [])])
    story = rollout.validate(work_on(fake), Options())
    assert (story.exit_code, "prefill.service crashed" in str(story.error)) == (1, True)


def test_the_record_of_a_rollout_that_was_interrupted_before_excuses_no_crash() -> None:
    fake = settled(mode="running", inflight=LEFT)
    fake.load = restarted_by(fake, audit=[*fake.audit, RECORD])
    assert rollout.validate(work_on(fake), Options()).exit_code == 1


def test_units_that_somebodys_rollout_keeps_down_are_inconclusive_too() -> None:
    fake = settled(mode="running")
    before = observation.observe(work_on(fake).wire, host())
    fake.units["prefill.service"].active = "failed"
    fake.lock = BOB
    work = work_on(fake)
    assert not waiting.all_up(work, before=before)
    assert [found.outcome.value for found in work.run.findings] == ["inconclusive", "pass", "pass"]
    assert work.run.findings[0].message.startswith("asked in the middle of bob@desk's rollout: ")


def test_a_deploy_whose_own_units_crash_still_fails() -> None:
    fake = a_host()
    fake.load = restarted_by(fake)
    assert deploy(fake).exit_code == 1


def test_who_is_at_work_is_nobody_where_no_lock_is_held() -> None:
    work = work_on(settled())
    seen = observation.observe(work.wire, work.host)
    assert (alongside.at_work(seen), alongside.meanwhile(work.wire, work.host, seen)) == ("", "")
