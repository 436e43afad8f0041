from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

from runbook import looking
from runbook.events import Note
from runbook.model import Flag
from runbook.options import Options
from runbook.rollout import deploy
from runbook.stages import standing
from runbook.verdict import Outcome
from runbook.verify import bookkeeping
from tests.building import DECODE, OVERLAP, host
from tests.fakehost import FakeHost
from tests.test_rollout import a_host, work_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.story import Story

TODAY = datetime.date(2026, 11, 30)


def test_status_tells_what_drifts_and_that_nothing_was_rolled_out_yet() -> None:
    story = looking.status(work_on(a_host()), Options())
    status = story.extra["status"]
    assert (story.outcome, story.exit_code) == (Outcome.FAIL, 5)
    assert {flag["flag"] for flag in status["flags"] if flag["outcome"] == "fail"} >= {OVERLAP}
    assert (status["current"], status["last"], status["edited"]) == (None, None, [])


def test_status_after_a_deploy_knows_its_release_its_rollout_and_hand_edits() -> None:
    fake = a_host()
    deployed = deploy(work_on(fake), Options())
    fake.lock = None
    fake.files[DECODE] += b"# by hand\n"
    status = looking.status(work_on(fake), Options()).extra["status"]
    assert status["current"]["id"] == deployed.release
    assert (status["last"]["id"], status["last"]["outcome"]) == (deployed.rollout, "pass")
    assert status["edited"] == [DECODE]


def test_status_keeps_a_deploy_for_the_last_rollout_when_a_later_one_is_declined() -> None:
    fake = a_host()
    deployed = deploy(work_on(fake), Options())
    fake.lock = None
    declined = deploy(work_on(fake, confirm=False), Options())
    assert (declined.exit_code, fake.audit[-1]["id"]) == (130, declined.rollout)
    last = looking.status(work_on(fake), Options()).extra["status"]["last"]
    assert (last["id"], last["ended_as"], last["rolled_back_to"]) == (deployed.rollout, "pass", None)


def test_status_says_of_a_rollout_that_was_undone_where_it_went_back_to() -> None:
    fake = a_host()
    fake.behave = lambda unit: setattr(unit, "active", "failed" if OVERLAP in unit.environ else "active")
    undone = deploy(work_on(fake), Options())
    fake.lock = None
    last = looking.status(work_on(fake), Options()).extra["status"]["last"]
    assert undone.rolled_back_to
    assert (last["ended_as"], last["rolled_back_to"]) == ("fail", undone.rolled_back_to)


def settled() -> FakeHost:
    """A host after a deploy that passed."""
    fake = a_host()
    deploy(work_on(fake), Options())
    fake.lock = None
    return fake


def test_status_of_a_host_that_is_well_passes() -> None:
    story = looking.status(work_on(settled()), Options())
    assert (story.exit_code, story.findings) == (0, ())


@pytest.mark.parametrize(("active", "said"), [("inactive", "inactive/dead"), ("failed", "unit failed")])
def test_status_of_a_unit_that_is_down_fails_and_names_it_first(active: str, said: str) -> None:
    fake = settled()
    fake.units["decode.service"].active = active
    story = looking.status(work_on(fake), Options())
    assert story.exit_code == 1
    assert [(found.check, found.outcome) for found in story.findings] == [("unit", Outcome.FAIL)]
    assert story.findings[0].message.startswith("decode: ")
    assert said in story.findings[0].message


def test_status_of_an_interrupted_rollout_is_no_pass_until_it_is_settled() -> None:
    fake = settled()
    fake.inflight = {"action": "deploy", "rollout": "x", "who": "ann@laptop", "since": "07:00", "steps": []}
    story = looking.status(work_on(fake), Options())
    assert (story.exit_code, story.findings[0].check) == (3, "interrupted")
    fake.lock = {"who": "ann@laptop", "since": "07:00", "step": "bench"}
    assert looking.status(work_on(fake), Options()).exit_code == 0
    fake.lock = None
    deploy(work_on(fake), Options())
    fake.lock = None
    assert looking.status(work_on(fake), Options()).exit_code == 0


@pytest.mark.parametrize("page", [looking.plan, deploy])
def test_what_the_ledger_fails_is_told_by_a_plan_and_stops_nothing(page: Callable[..., Story]) -> None:
    wrong = Flag(OVERLAP, "maybe", "a reason", ("decode",))
    fake = FakeHost(host=host(flags=(wrong,)))
    notes: list[str] = []
    hear = [lambda event: notes.append(event.text) if isinstance(event, Note) else None]
    story = page(work_on(fake, listeners=hear), Options(skip_validation=True))
    assert story.exit_code == 0
    (said,) = (note for note in notes if "verify and hosts.check fail it" in note)
    assert said.startswith(f"warning: {OVERLAP} on decode: declared 'maybe', which SGLang does not read")
    overridden = work_on(FakeHost(host=host(flags=(wrong,))), listeners=hear, overrides={OVERLAP: "maybe"})
    notes.clear()
    page(overridden, Options(skip_validation=True))
    assert not any("hosts.check" in note for note in notes), "opening said it of the command line"


@pytest.mark.parametrize("page", [looking.plan, deploy])
def test_a_flag_that_looks_misspelt_is_told_once_and_stops_nothing(page: Callable[..., Story]) -> None:
    name = f"{OVERLAP}S"
    fake = FakeHost(host=host(flags=(Flag(name, "0", "a reason", ("decode",)),)))
    notes: list[str] = []
    hear = [lambda event: notes.append(event.text) if isinstance(event, Note) else None]
    story = page(work_on(fake, listeners=hear), Options(skip_validation=True))
    assert story.exit_code == 0
    said = f"warning: {name} on decode: no name that SGLang is known to read (hosts/gpu1.yml); did you mean {OVERLAP}?"
    (told,) = (note for note in notes if name in note)
    assert told.startswith(said)
    (checked,) = (
        found for found in bookkeeping.book(fake.host, None, TODAY) if found.check == "ledger.misspelt"
    )
    assert told == checked.message


def test_a_script_that_is_gone_was_edited_by_nobody() -> None:
    fake = settled()
    del fake.files[DECODE]
    story = looking.status(work_on(fake), Options())
    assert (story.extra["status"]["gone"], story.extra["status"]["edited"]) == ([DECODE], [])
    assert (story.exit_code, story.findings[0].message) == (5, f"{DECODE} is gone")


def test_a_hand_edit_is_told_and_is_no_drift_by_itself() -> None:
    fake = settled()
    fake.files[DECODE] += b"# by hand\n"
    assert looking.status(work_on(fake), Options()).exit_code == 0


def test_the_last_rollout_is_the_youngest_record_that_can_be_read() -> None:
    fake = a_host()
    deploy(work_on(fake), Options())
    fake.lock = None
    looking.status(work_on(fake), Options())
    last = standing.last_rollout(work_on(fake))
    assert last is not None
    assert (last["action"], last["who"]) == ("deploy", "ann@laptop")


@pytest.mark.parametrize(("days", "told"), [(-1, True), (0, True), (14, True), (15, False)])
def test_flags_that_expire_within_two_weeks_are_told(days: int, told: bool) -> None:
    today = datetime.date(2026, 11, 30)
    flag = Flag("A", "1", "why", ("decode",), owner="kernels", expires=today + datetime.timedelta(days=days))
    rows = standing.expiring(host(flags=(flag,)), today)
    assert [row["days"] for row in rows] == ([days] if told else [])


def test_a_flag_that_expires_is_told_with_the_day_it_is_wanted_since() -> None:
    today = datetime.date(2026, 11, 30)
    flag = Flag("A", "1", "why", ("decode",), since=datetime.date(2026, 8, 14), expires=today)
    rows = standing.expiring(host(flags=(flag, flag._replace(since=None))), today)
    assert [row["since"] for row in rows] == ["2026-08-14", None]


def test_logs_are_those_of_the_units_named_by_role_or_name() -> None:
    fake = a_host()
    for names in (("decode",), ("decode.service",), ("decode", "decode.service")):
        story = looking.logs(work_on(fake), Options(units=names))
        assert [unit["role"] for unit in story.extra["logs"]] == ["decode"]
    assert [unit["role"] for unit in looking.logs(work_on(fake), Options()).extra["logs"]] == [
        "prefill",
        "decode",
        "router",
    ]
    assert set(fake.calls) == {"journal"}


def test_a_unit_nobody_knows_is_a_usage_error_that_names_those_there_are() -> None:
    story = looking.logs(work_on(a_host()), Options(units=("encode",)))
    assert story.exit_code == 2
    assert "no unit 'encode'; it has: prefill, decode, router" in str(story.error)
