from __future__ import annotations

import base64
import datetime
from typing import TYPE_CHECKING, Any

import pytest

from runbook import releases
from runbook.errors import ReleaseError
from runbook.observation import release as parse
from tests.building import DECODE, OVERLAP, PREFILL, TOPK, host, observation, release, script

if TYPE_CHECKING:
    from runbook.model import Observation

OLD = observation()
NEW = observation(prefill=script(), decode=script(**{OVERLAP: "0"}))


def stored(seen: Observation) -> dict[str, dict[str, str]]:
    return {
        path: {"b64": base64.b64encode(file.content or b"").decode()} for path, file in seen.files.items()
    }


def chain(**fields: Any) -> Observation:
    """On disk NEW; releases a (adopted, OLD) ← b (NEW, current)."""
    known = (release("a", OLD, verdict="adopted"), release("b", NEW, parent="a"))
    return observation(
        prefill=NEW.files[PREFILL].content,
        decode=NEW.files[DECODE].content,
        releases=known,
        current="b",
        **fields,
    )


def test_a_manifest_reads_back_as_the_release_it_was_made_from() -> None:
    now = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    document = releases.manifest(
        "r",
        created=now,
        parent="p",
        verdict="unproven",
        files=releases.records(OLD.files),
        flags={"decode": {TOPK: None}},
        rollout="x",
    )
    read = parse(document)
    assert (read.id, read.parent, read.verdict, read.rollout) == ("r", "p", "unproven", "x")
    assert read.files == releases.records(OLD.files)
    assert read.flags == {"decode": {TOPK: None}}


def test_a_rollback_goes_to_the_parent_of_current() -> None:
    assert releases.rollback_target(chain(), None).id == "a"


def test_a_rollback_goes_where_it_is_told() -> None:
    assert releases.rollback_target(chain(), "b").id == "b"


def test_a_rollback_after_an_interrupted_deploy_goes_to_where_that_started() -> None:
    seen = chain(inflight={"parent": "b", "step": "write"})
    assert releases.rollback_target(seen, None).id == "b"


def test_a_rollback_without_any_release_says_there_is_nothing_to_return_to() -> None:
    with pytest.raises(ReleaseError, match="nothing to return to"):
        releases.rollback_target(observation(), None)


def test_a_rollback_from_the_first_release_says_it_has_no_parent() -> None:
    seen = observation(releases=(release("a", OLD),), current="a")
    with pytest.raises(ReleaseError, match="has no parent"):
        releases.rollback_target(seen, None)


@pytest.mark.parametrize(("asked", "says"), [("zz", "does not exist"), ("", "is not unique")])
def test_an_id_that_names_no_single_release_lists_those_there_are(asked: str, says: str) -> None:
    with pytest.raises(ReleaseError, match=rf"{says}.*b, a"):
        releases.find(chain(), asked)


def test_the_plan_back_restores_the_stored_bytes_and_restarts_what_runs_otherwise() -> None:
    seen = chain()
    plan = releases.plan_back(host(), seen, stored(OLD), release("a", OLD))
    assert {change.path: change.after for change in plan.changes} == {
        path: file.content for path, file in OLD.files.items()
    }
    assert plan.wanted["prefill"][TOPK] == "0"


def test_files_that_are_as_the_release_says_are_not_written() -> None:
    assert releases.plan_back(host(), OLD, stored(OLD), release("a", OLD)).changes == ()


def test_a_stored_copy_that_does_not_match_its_digest_is_refused() -> None:
    damaged = stored(OLD) | {DECODE: {"b64": base64.b64encode(b"other").decode()}}
    with pytest.raises(ReleaseError, match="does not match its digest"):
        releases.plan_back(host(), NEW, damaged, release("a", OLD))


def test_files_edited_since_a_release_are_named() -> None:
    assert releases.edited_since(NEW, release("a", OLD)) == (PREFILL, DECODE)
    assert releases.edited_since(OLD, release("a", OLD)) == ()


@pytest.mark.parametrize(("seconds", "says"), [(5, "5 s"), (60, "1 min"), (7300, "2 h"), (200000, "2 d")])
def test_the_age_of_a_release_is_told_in_its_largest_unit(seconds: int, says: str) -> None:
    made = release("a", OLD)
    assert releases.age(made, datetime.datetime.fromisoformat(made.created).timestamp() + seconds) == says


def test_a_current_release_that_is_gone_is_none_and_is_remarked() -> None:
    seen = observation(releases=(release("a", OLD),), current="b")
    assert releases.current(seen) is None
    assert ["release b should be current" in remark for remark in releases.remarks(seen)] == [True]
    with pytest.raises(
        ReleaseError, match=r"release b, the current one, is gone or damaged.*--to names another: a"
    ):
        releases.rollback_target(seen, None)
    assert releases.rollback_target(seen, "a").id == "a"


def test_an_id_counts_more_than_the_beginning_of_another() -> None:
    seen = observation(releases=(release("a", OLD), release("ab", OLD)), current="a")
    assert releases.find(seen, "a").id == "a"


def test_an_interrupted_rollout_that_names_no_release_says_nothing_of_the_way_back() -> None:
    assert releases.rollback_target(chain(inflight={"parent": 7}), None).id == "a"


def test_of_many_releases_the_youngest_are_named() -> None:
    many = tuple(release(f"r{n:02}", OLD, created=f"2026-01-{n:02}T00:00:00+00:00") for n in range(1, 13))
    with pytest.raises(ReleaseError) as caught:
        releases.find(OLD._replace(releases=many), "nope")
    assert str(caught.value).endswith("r12, r11, r10, r09, r08, r07, r06, r05, and 4 more")
