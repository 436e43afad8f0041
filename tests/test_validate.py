"""`validate --host`: one stage by itself, against what serves now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runbook import lines, rollout
from runbook.options import Options
from tests.building import host
from tests.fakehost import sessions_result
from tests.test_rollout import VALIDATIONS, a_host, corrupt, work_on

if TYPE_CHECKING:
    from runbook.story import Story
    from tests.fakehost import FakeHost

CHANGING = {
    "lock",
    "files_write",
    "unit_restart",
    "daemon_reload",
    "release_save",
    "release_update",
    "set_current",
}


def validate(fake: FakeHost, *names: str, listeners: Any = (), **options: Any) -> Story:
    fake.mode = "running"
    return rollout.validate(work_on(fake, listeners=listeners), Options(names=names, **options))


def ran(story: Story) -> list[str]:
    return [str(result["name"]) for result in story.measured.validations]


def test_all_validations_of_a_host_run_and_only_the_audit_is_written() -> None:
    fake = a_host()
    story = validate(fake)
    assert (story.exit_code, ran(story), len(fake.audit)) == (0, ["final80", "final60"], 1)
    assert CHANGING.isdisjoint(fake.calls)


def test_the_named_ones_alone_run_each_once() -> None:
    assert ran(validate(a_host(), "final60")) == ["final60"]
    assert ran(validate(a_host(), "final60", "final80", "final60")) == ["final60", "final80"]


def test_an_unknown_name_lists_those_there_are_before_any_load() -> None:
    fake = a_host()
    story = validate(fake, "final8O")
    assert (story.exit_code, ran(story)) == (2, [])
    assert str(story.error).endswith("no validation named 'final8O'; it has: final80, final60")
    assert "job_start" not in fake.calls


def test_a_host_without_validations_is_told_so() -> None:
    story = validate(a_host(host=host(validations=())))
    assert (story.exit_code, "declares no validation, so there is none to run" in str(story.error)) == (
        2,
        True,
    )


def test_corruption_exits_1_changes_nothing_and_says_what_was_not_run() -> None:
    told: list[Any] = []
    fake = a_host(load=corrupt)
    story = validate(fake, listeners=[told.append])
    assert (story.exit_code, ran(story)) == (1, ["final80"])
    assert "not run after that: final60" in [event.text for event in told if type(event).__name__ == "Note"]
    assert CHANGING.isdisjoint(fake.calls)


def test_a_run_that_concludes_nothing_exits_3() -> None:
    assert validate(a_host(load=lambda argv: sessions_result(argv, infra=80))).exit_code == 3


def test_live_traffic_is_only_joined_when_that_is_said() -> None:
    live = host(validations=VALIDATIONS, traffic="live")
    refused = validate(a_host(host=live))
    assert (refused.exit_code, "--load" in str(refused.error)) == (2, True)
    assert ran(validate(a_host(host=live), load=True)) == ["final80", "final60"]


def test_a_server_that_is_not_up_is_not_loaded() -> None:
    fake = a_host()
    fake.units["decode.service"].active = "failed"
    story = validate(fake)
    assert (story.exit_code, ran(story)) == (1, [])


def with_control(argv: list[str], *, outcome: str) -> dict[str, Any]:
    """A result in which a control arm judged the copying errors."""
    arm = {"slips": 0, "soft": 0, "judged": 80, "streams": None}
    message = "12 of 80 sessions with slips or miscopies, 0 of 80 in the control arm"
    found = {"check": "copying", "outcome": outcome, "message": message, "evidence": {}}
    return sessions_result(argv) | {"outcome": outcome, "findings": [found], "details": {"control": arm}}


def verified(fake: FakeHost) -> Story:
    load, fake.load = fake.load, sessions_result
    rollout.deploy(work_on(fake), Options())
    fake.load, fake.mode, fake.lock = load, "running", None
    return rollout.check(work_on(fake), Options())


def deployed(fake: FakeHost) -> Story:
    return rollout.deploy(work_on(fake), Options())


@pytest.mark.parametrize("page", [validate, verified, deployed])
@pytest.mark.parametrize(("outcome", "exit_code"), [("fail", 1), ("inconclusive", 3)])
def test_what_the_control_arm_says_decides_in_every_page(page: Any, outcome: str, exit_code: int) -> None:
    story = page(a_host(load=lambda argv: with_control(argv, outcome=outcome)))
    assert (story.exit_code, ran(story)) == (exit_code, ["final80"])
    assert [found.outcome.value for found in story.findings if found.check == "copying"] == [outcome]


def test_no_stage_switches_the_control_arm_off() -> None:
    seen: list[list[str]] = []

    def load(argv: list[str]) -> dict[str, Any]:
        seen.append(argv)
        return sessions_result(argv)

    rollout.deploy(work_on(a_host(load=load)), Options())
    loads = [argv for argv in seen if "repro" in argv]
    assert len(loads) >= 2
    assert not any("--no-control" in argv for argv in loads)


def test_the_arm_and_the_kept_streams_are_shown() -> None:
    argv = ["--tag", "x", "--sessions", "80", "--rounds", "3"]
    shown = lines.of("validation", with_control(argv, outcome="fail") | {"streams": "/tmp/x.gz"})
    assert "  control arm: 0 slips or miscopies, 0 soft defects in 80 sessions" in shown
    assert any(line.endswith("/tmp/x.gz") for line in shown)


@pytest.mark.parametrize("wrong", [{"rowz": "12"}, {"rows": "many"}, {"thinking": "maybe"}])
def test_an_option_the_load_generator_has_not_is_one_line_and_sends_nothing(wrong: dict[str, str]) -> None:
    spec = VALIDATIONS[0]._replace(options=wrong)
    fake = a_host(host=host(validations=(spec,)))
    story = validate(fake)
    (found,) = [finding for finding in story.findings if finding.check == "validation:final80"]
    assert (story.exit_code, found.outcome.value) == (3, "error")
    assert "hosts/gpu1.yml: validation final80: " in found.message
    assert "\n" not in found.message
    assert "job_start" not in fake.calls


def test_options_of_the_host_file_reach_the_load_generator() -> None:
    seen: list[list[str]] = []
    spec = VALIDATIONS[0]._replace(options={"control": "concurrency=4", "rows": "12"})

    def load(argv: list[str]) -> dict[str, Any]:
        seen.append(argv)
        return sessions_result(argv)

    validate(a_host(load=load, host=host(validations=(spec,))))
    text = " ".join(seen[-1])
    assert "--control concurrency=4" in text
    assert "--rows 12" in text
