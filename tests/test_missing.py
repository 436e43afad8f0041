"""What was never there is not gone, and what was probably meant is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook import looking, screens
from runbook.options import Options
from tests.building import DECODE, UNITS, host
from tests.fakehost import FakeHost
from tests.test_rollout import a_host, deploy, work_on

if TYPE_CHECKING:
    from runbook.story import Story

NEAR = "/root/serve-decode.sh"


def status(fake: FakeHost) -> Story:
    fake.lock = None
    return looking.status(work_on(fake), Options())


def misnamed() -> FakeHost:
    fake = FakeHost(near={DECODE: [NEAR]})
    del fake.files[DECODE]
    return fake


def test_a_script_that_no_release_ever_saw_is_not_there_and_what_was_meant_is_said() -> None:
    story = status(misnamed())
    said = f"{DECODE} is not there (did you mean {NEAR}?)"
    assert (story.exit_code, story.findings[0].message) == (5, said)
    assert (story.extra["status"]["gone"], story.extra["status"]["missing"]) == ([], [said])
    assert f"!! {said}" in screens.status(story.extra["status"])
    assert "1 script not there" in screens.one_host(story.document())[0]


def test_a_script_that_a_release_has_is_gone() -> None:
    fake = a_host()
    deploy(fake)
    del fake.files[DECODE]
    shown = status(fake).extra["status"]
    assert (shown["gone"], shown["missing"]) == ([DECODE], [])


def test_a_plan_names_the_script_that_was_meant() -> None:
    told = str(looking.plan(work_on(misnamed()), Options()).error).splitlines()
    assert told[0] == (f"gpu1: not on the host: script {DECODE} (did you mean {NEAR}?); nothing was changed")


def test_a_plan_names_the_unit_that_was_meant() -> None:
    wrong = (UNITS[0], UNITS[1]._replace(name="decoder.service"), UNITS[2])
    fake = FakeHost(host=host(units=wrong), near={"decoder.service": ["decode.service"]})
    there = fake._unit

    def seen(unit: object) -> object:
        found = there(unit)  # type: ignore[arg-type]
        name = unit.unit.name  # type: ignore[attr-defined]
        return {**found, "properties": {"LoadState": "not-found"}} if name == "decoder.service" else found

    fake._unit = seen  # type: ignore[method-assign, assignment]
    assert str(looking.plan(work_on(fake), Options()).error) == (
        "gpu1: not on the host: unit decoder.service (did you mean decode.service?); nothing was changed"
    )
