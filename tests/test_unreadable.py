"""What the login may not read is unknown: never missing, never wrong, and never another hand's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runbook import looking, rollout, screens
from runbook.model import Argument
from runbook.onhost.environ import UNREADABLE
from runbook.options import Options
from runbook.verdict import Outcome
from tests.building import DECODE, OVERLAP, PREFILL, UNITS, host
from tests.fakehost import FakeHost
from tests.test_rollout import a_host, work_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.story import Story

SAID = f"not readable as ann: {PREFILL}, {DECODE}; set `become: true` in hosts/gpu1.yml"


def settled() -> FakeHost:
    fake = a_host()
    rollout.deploy(work_on(fake), Options())
    fake.lock = None
    return fake


def closed(fake: FakeHost, *paths: str) -> FakeHost:
    fake.closed = set(paths or (PREFILL, DECODE))
    return fake


def test_status_knows_nothing_of_what_it_may_not_read() -> None:
    story = looking.status(work_on(closed(settled())), Options())
    shown = story.extra["status"]
    assert (story.exit_code, [found.message for found in story.findings]) == (3, [SAID])
    assert (shown["gone"], shown["missing"], shown["edited"]) == ([], [], [])
    assert {row["outcome"] for row in shown["flags"]} == {"inconclusive"}
    lines = screens.status(shown)
    assert f"!! {SAID}" in lines
    assert "flags 0 of 3 as the host file says, 3 not known" in lines


@pytest.mark.parametrize("page", [looking.plan, rollout.deploy, rollout.check, rollout.rollback])
def test_what_needs_the_files_is_refused_with_what_helps(page: Callable[..., Story]) -> None:
    fake = closed(settled())
    before = dict(fake.files)
    story = page(work_on(fake), Options())
    assert (story.exit_code, str(story.error)) == (2, f"gpu1: {SAID}; nothing was changed")
    assert fake.files == before


def test_root_is_not_told_to_become_root() -> None:
    fake = closed(FakeHost(host=host(become=True)))
    told = str(looking.plan(work_on(fake), Options()).error)
    assert told == f"gpu1: not readable as ann: {PREFILL}, {DECODE}; nothing was changed"


def test_what_runs_is_wrong_whatever_the_file_may_say() -> None:
    fake = closed(settled(), DECODE)
    fake.units["decode.service"].environ[OVERLAP] = "1"
    story = looking.status(work_on(fake), Options())
    assert story.exit_code == 5
    (drift,) = (found for found in story.findings if found.outcome is Outcome.FAIL)
    assert OVERLAP in drift.message


def test_a_launch_argument_of_a_script_that_may_not_be_read_is_unknown() -> None:
    declared = (UNITS[0]._replace(args=(Argument("--tp", "8", "x"),)), *UNITS[1:])
    fake = closed(FakeHost(host=host(units=declared, flags=())), PREFILL)
    (row,) = looking.status(work_on(fake), Options()).extra["status"]["flags"]
    assert (row["file"], row["outcome"]) == ("(not readable by this login)", "inconclusive")


def test_a_file_that_feeds_a_unit_and_may_not_be_read_may_set_what_no_other_does() -> None:
    feed = "/etc/serve.env"
    fake = FakeHost(files={feed: b"OTHER=1\n"}, env_files={"decode": (feed,)})
    row = next(
        row
        for row in looking.status(work_on(closed(fake, feed)), Options()).extra["status"]["flags"]
        if row["flag"] == OVERLAP
    )
    assert row["file"] == "(not readable by this login)"


def test_an_environment_that_may_not_be_read_is_said_with_what_helps() -> None:
    fake = settled()
    told = fake._unit

    def silent(unit: object) -> object:
        seen = told(unit)  # type: ignore[arg-type]
        hidden = {"kind": "unknown", "pid": 7, "started_at": 0.0, "environ": {}, "detail": UNREADABLE}
        return {**seen, "processes": hidden}

    fake._unit = silent  # type: ignore[method-assign, assignment]
    story = looking.status(work_on(fake), Options())
    assert (story.exit_code, [found.message for found in story.findings]) == (
        3,
        [
            "not readable as ann: what prefill runs with, what decode runs with; "
            "set `become: true` in hosts/gpu1.yml"
        ],
    )


def test_a_script_that_is_no_file_is_said_to_be_there() -> None:
    fake = FakeHost()
    told = fake._file
    broken = {"exists": True, "real_path": DECODE, "b64": None, "error": "Is a directory"}
    fake._file = lambda path: broken if path == DECODE else told(path)  # type: ignore[method-assign]
    assert str(looking.plan(work_on(fake), Options()).error) == (
        f"gpu1: there, but no script to read: {DECODE}: Is a directory; nothing was changed"
    )
