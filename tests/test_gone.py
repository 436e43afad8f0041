"""A variable that no file sets any more, while what was started before still runs with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runbook import looking, planning, rollout, screens
from runbook.errors import LinkLostError
from runbook.inventory import overridden
from runbook.options import Options
from tests.building import DECODE, FLAGS, file_state, host, observation, release, script, unit_state
from tests.fakehost import FakeHost
from tests.test_rollout import StopAt, a_host, corrupt, deploy, rollback, work_on

if TYPE_CHECKING:
    from runbook.model import Host
    from runbook.plan import Plan

FOO = "SGLANG_FOO"
UNDECLARED = ("SGLANG_FOO", "A_NAME_OF_NO_ENGINE")


def with_foo(declared: Host, name: str = FOO) -> Host:
    return overridden(declared, {name: "1"})


def edited_by_hand(export: str) -> FakeHost:
    """A host after a deploy, whose decode somebody gave one variable more and restarted."""
    fake = a_host()
    deploy(fake)
    fake.files[DECODE] = fake.files[DECODE].replace(b"exec", f"export {export}\nexec".encode())
    fake.lock = None
    rollout.restart(work_on(fake), Options(units=("decode",)))
    return fake


def proven_with_foo(name: str = FOO) -> FakeHost:
    """What the file says is proven, and then the same with one flag more, which was on the command line alone."""
    fake = a_host()
    deploy(fake)
    deploy(fake, wanted=with_foo(fake.host, name))
    assert fake.units["decode.service"].environ[name] == "1"
    return fake


def test_a_secret_that_nobody_wants_any_more_is_not_left_running_and_not_shown() -> None:
    fake = edited_by_hand("HF_TOKEN=hf_abcdefghijkl")
    story = rollback(fake, Options(force=True, to=fake.current))
    assert story.plan is not None
    assert [(restart.role, restart.why) for restart in story.plan.restarts] == [
        ("decode", "running environment differs: HF_TOKEN is set, wanted absent")
    ]
    assert "HF_TOKEN" not in fake.units["decode.service"].environ
    assert "hf_abc" not in str(story.document())


@pytest.mark.parametrize("name", UNDECLARED)
def test_a_rollback_restarts_what_runs_with_a_flag_that_the_host_file_does_not_name(name: str) -> None:
    fake = proven_with_foo(name)
    story = rollback(fake)
    assert story.exit_code == 0
    assert story.plan is not None
    assert [restart.role for restart in story.plan.restarts] == ["prefill", "decode"]
    assert all(name not in fake.units[unit].environ for unit in ("prefill.service", "decode.service"))


def test_an_edit_by_hand_that_a_rollback_takes_back_is_not_left_running() -> None:
    fake = edited_by_hand("MINE=1")
    assert fake.units["decode.service"].environ["MINE"] == "1"
    assert rollback(fake, Options(force=True, to=fake.current)).exit_code == 0
    assert "MINE" not in fake.units["decode.service"].environ


@pytest.mark.parametrize("then", [rollout.deploy, rollout.rollback])
def test_what_a_rollback_that_was_stopped_before_its_restart_left_running_is_settled_by_the_next_run(
    then: object,
) -> None:
    fake = proven_with_foo()
    operator = StopAt("StepEnded write back")
    stopped = rollback(fake, listeners=[operator], checkpoint=operator.checkpoint)
    assert (stopped.exit_code, stopped.rolled_back_to) == (130, None)
    assert fake.units["decode.service"].environ[FOO] == "1"
    assert FOO not in fake.files[DECODE].decode()

    fake.lock = None
    told = looking.plan(work_on(fake), Options()).plan
    assert told is not None
    assert "SGLANG_FOO is '1', wanted absent" in told.restarts[-1].why
    story = then(work_on(fake), Options())  # type: ignore[operator]
    assert story.exit_code == 0
    assert FOO not in fake.units["decode.service"].environ


def test_a_stopped_rollback_by_itself_claims_nothing_and_shows_no_flags_of_before() -> None:
    fake = a_host()
    deploy(fake)
    operator = StopAt("StepEnded write back")
    fake.load = corrupt
    story = deploy(fake, wanted=with_foo(fake.host), listeners=[operator], checkpoint=operator.checkpoint)
    document = story.document()
    assert (document["exit_code"], document["rolled_back_to"]) == (130, None)
    assert "flags" not in document
    assert "units that were not restarted yet run what they ran before" in document["error"]
    assert fake.inflight is not None


def test_a_rollback_that_is_stopped_once_its_units_have_restarted_speaks_of_none_that_has_not() -> None:
    fake = proven_with_foo()
    operator = StopAt("StepEnded restart decode")
    story = rollback(fake, listeners=[operator], checkpoint=operator.checkpoint)
    document = story.document()
    assert (document["exit_code"], document["rolled_back_to"]) == (130, story.rolled_back_to)
    assert story.rolled_back_to is not None
    assert "back and its units restarted: nobody waited until they answer" in document["error"]
    assert FOO not in fake.units["decode.service"].environ


def test_a_rollback_whose_end_nobody_can_see_does_not_say_that_it_did_not_finish() -> None:
    class Losing(FakeHost):
        def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
            if name == "observe" and all(FOO not in unit.environ for unit in self.units.values()):
                raise LinkLostError("the link is lost")
            return super().call(name, deadline_s=deadline_s, **args)

    fake = proven_with_foo()
    fake.__class__ = Losing
    story = rollback(fake)
    assert story.exit_code == 4
    assert story.rolled_back_to is not None
    assert str(story.error).endswith("units restarted, but whether they serve is not known: the link is lost")


def test_verify_calls_what_is_left_running_drift() -> None:
    fake = proven_with_foo()
    operator = StopAt("StepEnded write back")
    rollback(fake, listeners=[operator], checkpoint=operator.checkpoint)
    fake.lock = None
    story = rollout.check(work_on(fake), Options(skip_validation=True))
    assert story.exit_code == 5
    assert [
        finding.message
        for finding in story.findings
        if finding.check == "drift" and finding.outcome == "fail"
    ] == [
        "prefill: running environment differs: SGLANG_FOO is '1', wanted absent; a deploy restarts it",
        "decode: running environment differs: SGLANG_FOO is '1', wanted absent; a deploy restarts it",
    ]


def test_status_names_what_is_left_running() -> None:
    fake = proven_with_foo()
    operator = StopAt("StepEnded write back")
    rollback(fake, listeners=[operator], checkpoint=operator.checkpoint)
    fake.inflight = None
    story = looking.status(work_on(fake), Options())
    assert story.exit_code == 5
    assert (
        "!! decode: running environment differs: SGLANG_FOO is '1', wanted absent; a deploy restarts it"
        in (screens.status(story.extra["status"]))
    )


def planned(*, ctime_s: float, environ: dict[str, str]) -> Plan:
    """A host as its file says, one of whose releases set FOO for decode; its processes started at 1000."""
    environ = {flag.name: flag.value for flag in FLAGS if flag.value is not None} | environ
    decode = script(**{flag.name: flag.value for flag in FLAGS if flag.value is not None})
    look = observation(
        prefill=script(),
        decode=decode,
        units={
            "prefill.service": unit_state("prefill.service"),
            "decode.service": unit_state("decode.service", environ),
        },
        set_once={"decode": (FOO,)},
    )
    return planning.deploy(
        host(), look._replace(files={**look.files, DECODE: file_state(DECODE, decode, ctime_s=ctime_s)})
    )


@pytest.mark.parametrize(
    ("ctime_s", "environ", "why"),
    [
        (1500.0, {FOO: "1"}, "running environment differs: SGLANG_FOO is '1', wanted absent"),
        (1500.0, {}, None),
        (500.0, {FOO: "1"}, None),  # started since, so something else sets it: a restart would not end that
    ],
)
def test_a_restart_is_for_what_started_before_the_files_said_otherwise(
    ctime_s: float, environ: dict[str, str], why: str | None
) -> None:
    made = planned(ctime_s=ctime_s, environ=environ)
    assert {restart.role: restart.why for restart in made.restarts}.get("decode") == why


@pytest.mark.parametrize(
    "name", ["HOME", "PATH", "LANG", "SHLVL", "IN_THE_UNIT", "PASSED_ON", "OF_THE_MANAGER", "IN_A_FILE"]
)
def test_what_a_start_has_from_elsewhere_is_not_called_left_over_from_a_release(name: str) -> None:
    """A release's script set it; today systemd does, or a shell, and a file was touched since the start."""
    unit, listed = "/etc/systemd/system/decode.service", "/etc/default/sglang"
    fixed = {flag.name: flag.value for flag in FLAGS if flag.value is not None}
    properties: dict[str, Any] = {"FragmentPath": unit, "EnvironmentFiles": f"{listed} (ignore_errors=no)"}
    look = observation(
        prefill=script(),
        decode=script(**fixed),
        units={
            "prefill.service": unit_state("prefill.service"),
            "decode.service": unit_state("decode.service", fixed | {name: "x"}, **properties),
        },
        feeds={
            unit: file_state(
                unit, b"[Service]\nEnvironment=IN_THE_UNIT=x\nPassEnvironment=PASSED_ON\n", ctime_s=1500.0
            ),
            listed: file_state(listed, b"IN_A_FILE=x\n"),
        },
        manager={"OF_THE_MANAGER": "x"},
        set_once={"decode": (name,)},
    )
    assert not planning.deploy(host(), look).restarts


def test_a_rollback_restarts_what_runs_with_a_home_that_its_script_sets_no_more() -> None:
    fake = edited_by_hand("HOME=/data")
    story = rollback(fake, Options(force=True, to=fake.current))
    assert story.plan is not None
    assert [restart.role for restart in story.plan.restarts] == ["decode"]


def test_what_a_release_set_is_known_by_role() -> None:
    from runbook.observation import set_once

    seen = observation()
    known = (
        release("a", seen, flags={"decode": {FOO: "1", "GONE": None}}),
        release("b", seen, flags={"decode": {"BAR": ""}, "prefill": {}}),
    )
    assert set_once(known) == {"decode": ("BAR", FOO), "prefill": ()}
