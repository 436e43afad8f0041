"""What --set leaves that no host file names: told by every page until something ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runbook import ending, inventory, leftovers, looking, rollout, screens
from runbook.options import Options
from runbook.verdict import is_warning
from tests.building import DECODE, PREFILL, host, observation, release
from tests.fakehost import FakeHost
from tests.stages.test_inflight import cut
from tests.test_rollout import StopAt, deploy, rollback, work_on

if TYPE_CHECKING:
    from runbook.model import Flag
    from runbook.story import Story

LEFT = "left behind: NEWFLAG = 1, which no host file names: it stays until one does, or until `deploy --unset NEWFLAG`"


def with_set(fake: FakeHost, settings: dict[str, str | None], **fields: Any) -> Story:
    """A deploy with --set and --unset, as `opening` hands it to the rollout."""
    return deploy(
        fake,
        wanted=inventory.overridden(fake.host, settings),
        overrides=inventory.overriding(fake.host, settings),
        undeclared=inventory.undeclared(fake.host, settings),
        **fields,
    )


def a_host(**settings: str | None) -> FakeHost:
    """A host deployed to, and once more with --set."""
    fake = FakeHost()
    deploy(fake)
    with_set(fake, settings or {"NEWFLAG": "1"})
    fake.lock = None
    return fake


def told(story: Story) -> list[str]:
    return [line.strip() for line in ending.lines(story.document()) if "left behind" in line]


def test_it_is_told_by_the_deploy_that_left_it_and_by_each_one_after() -> None:
    fake = FakeHost()
    deploy(fake)
    assert told(with_set(fake, {"NEWFLAG": "1"})) == [LEFT]
    assert told(deploy(fake)) == [LEFT]
    declared = host(flags=(*fake.host.flags[:1], fake.host.flags[1]._replace(value="1")))
    changing = deploy(fake, wanted=declared)
    assert changing.plan is not None
    assert changing.plan.changes
    assert told(changing) == [LEFT]


def test_it_is_a_line_of_status_which_is_well_all_the_same() -> None:
    fake = a_host()
    story = looking.status(work_on(fake), Options())
    shown = story.extra["status"]
    assert shown["left_behind"] == {"NEWFLAG": "1"}
    assert f"!! {LEFT}" in screens.status(shown)
    assert "1 left behind" in screens.one_host(story.document())[0]
    assert story.exit_code == 0


def test_a_plan_notes_it() -> None:
    plan = looking.plan(work_on(a_host()), Options()).plan
    assert plan is not None
    assert LEFT in plan.notes
    assert plan.empty


def test_a_verify_warns_of_it_and_tells_it_in_its_last_lines() -> None:
    story = rollout.check(work_on(a_host()), Options(skip_validation=True))
    (found,) = (one for one in story.findings if one.check == "ledger.left_behind")
    assert is_warning(found)
    assert found.message.startswith("warning: NEWFLAG = 1: by --set, and hosts/gpu1.yml does not name it;")
    assert told(story) == [LEFT]


def test_a_verify_fails_for_it_where_undeclared_flags_fail() -> None:
    fake = a_host()
    strict = fake.host._replace(policy=fake.host.policy._replace(undeclared_flags="fail"))
    assert rollout.check(work_on(fake, wanted=strict), Options(skip_validation=True)).exit_code == 5


@pytest.mark.parametrize("call", ["files_write", "release_save", "set_current", "unit_restart"])
def test_it_is_told_by_the_deploy_that_settles_one_whose_link_was_lost(call: str) -> None:
    fake = cut("never", 1)
    deploy(fake)
    fake.cut_in, fake.nth = call, 1
    with_set(fake, {"NEWFLAG": "1"})
    fake.lost = False
    written = b"NEWFLAG" in fake.files[PREFILL]
    assert written == (call != "files_write")
    assert told(deploy(fake)) == ([LEFT] if written else [])
    assert told(deploy(fake)) == ([LEFT] if written else [])


def test_it_is_told_by_the_deploy_after_one_that_was_stopped() -> None:
    fake = FakeHost()
    deploy(fake)
    operator = StopAt("StepStarted restart decode")
    stopped = with_set(fake, {"NEWFLAG": "1"}, listeners=[operator], checkpoint=operator.checkpoint)
    assert stopped.exit_code == 130
    assert told(stopped) == [LEFT]
    assert told(deploy(fake)) == [LEFT]


def test_a_rollback_tells_what_the_release_has_that_it_goes_back_to() -> None:
    fake = a_host()
    with_set(fake, {"SECOND": "2"})
    assert told(rollback(fake)) == [LEFT]
    assert told(rollback(fake)) == []


def test_an_unset_ends_it_and_leaves_nothing_to_care_for() -> None:
    fake = a_host()
    assert told(with_set(fake, {"NEWFLAG": None})) == []
    assert told(deploy(fake)) == []


def test_a_host_file_that_names_it_ends_it() -> None:
    fake = a_host()
    named: Flag = inventory.overridden(fake.host, {"NEWFLAG": "1"}).flags[-1]
    declared = fake.host._replace(flags=(*fake.host.flags, named))
    assert told(deploy(fake, wanted=declared)) == []
    assert looking.status(work_on(fake, wanted=declared), Options()).extra["status"]["left_behind"] == {}


def test_a_hand_that_takes_it_out_ends_it() -> None:
    fake = a_host()
    for path in (PREFILL, DECODE):
        fake.files[path] = fake.files[path].replace(b"export NEWFLAG=1\n", b"")
    assert looking.status(work_on(fake), Options()).extra["status"]["left_behind"] == {}
    assert told(deploy(fake)) == []


def test_what_a_hand_had_set_before_is_left_behind_by_a_set_that_changes_nothing() -> None:
    fake = FakeHost()
    deploy(fake)
    for path in (PREFILL, DECODE):
        fake.files[path] = fake.files[path].replace(b"exec", b"export NEWFLAG=1\nexec")
    deploy(fake)
    story = with_set(fake, {"NEWFLAG": "1"})
    assert story.plan is not None
    assert not story.plan.changes
    assert told(story) == [LEFT]
    assert told(deploy(fake)) == [LEFT]


def test_a_secret_is_told_by_its_name_alone() -> None:
    fake = a_host(MY_API_TOKEN="hunter2")
    assert "MY_API_TOKEN = ***" in told(deploy(fake))[0]
    assert looking.status(work_on(fake), Options()).extra["status"]["left_behind"] == {"MY_API_TOKEN": "***"}


def test_a_release_of_before_it_was_kept_tells_of_nothing() -> None:
    old = release("r", observation(), flags={"decode": {"NEWFLAG": "1"}})
    assert leftovers.names(observation(releases=(old,), current="r")) == frozenset()


def test_what_a_damaged_book_says_is_no_name() -> None:
    assert leftovers.names(observation(inflight={"by_hand": 7})) == frozenset()


def test_of_a_plan_that_is_refused_it_is_told_by_the_release() -> None:
    kept = release("r", observation(), flags={"decode": {"NEWFLAG": "1"}}, by_hand=("NEWFLAG",))
    seen = observation(releases=(kept,), current="r")
    left = leftovers.standing(host(), leftovers.names(seen), leftovers.files_of(seen, None))
    assert left == {"NEWFLAG": "1"}
