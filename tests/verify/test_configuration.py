"""What runs against what was planned: whom to ask, and what to say of an environment nobody can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runbook.options import Options
from runbook.verdict import Outcome
from runbook.verify import configuration
from tests.building import FLAGS, UNITS, host, observation, unit_state
from tests.fakehost import FakeHost
from tests.test_rollout import clean, deploy, rollback

if TYPE_CHECKING:
    from runbook.model import Host
    from tests.fakehost import RunningUnit

ROUTER = "/root/serve_router.sh"
PLAIN = b"#!/bin/bash\nexport PYTHONUNBUFFERED=1\nexec python -m sglang_router.launch_router\n"
FLAGGED = PLAIN.replace(b"exec", b"export SGLANG_R=1\nexec")
SCRIPTED = tuple(unit._replace(script=ROUTER) if unit.role == "router" else unit for unit in UNITS)
EVERYWHERE = tuple(flag._replace(units=("prefill", "decode", "router")) for flag in FLAGS)
UNKNOWN = {
    f"{role}.service": unit_state(f"{role}.service", kind="unknown")
    for role in ("prefill", "decode", "router")
}


def asked(declared: Host, wanted: dict[str, Any]) -> list[tuple[str, Outcome]]:
    found = configuration.environment(declared, observation(units=UNKNOWN), wanted)
    return [(one.message.partition(":")[0], one.outcome) for one in found]


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        (EVERYWHERE, {"SGLANG_OPT_USE_TOPK_V2": None}),
        ((), {"SGLANG_R": "1"}),
        ((), {"NCCL_DEBUG": "INFO", "PYTHONUNBUFFERED": "1"}),
    ],
)
def test_an_unknown_environment_in_which_a_flag_may_be_wrong_is_inconclusive(
    flags: Any, wanted: dict[str, Any]
) -> None:
    declared = host(units=SCRIPTED, flags=flags)
    assert asked(declared, {"router": wanted}) == [("router", Outcome.INCONCLUSIVE)]


@pytest.mark.parametrize(
    ("units", "wanted"), [(SCRIPTED, {"PYTHONUNBUFFERED": "1"}), (UNITS, {"SGLANG_R": "1"})]
)
def test_one_in_which_no_flag_stands_or_whose_script_is_left_to_others_is_not_asked(
    units: Any, wanted: dict[str, Any]
) -> None:
    assert asked(host(units=units), {"router": wanted}) == []


def test_where_it_is_known_every_variable_is_compared() -> None:
    seen = observation(units={"router.service": unit_state("router.service", {"PYTHONUNBUFFERED": "0"})})
    (found,) = configuration.environment(host(), seen, {"router": {"PYTHONUNBUFFERED": "1"}})
    assert found.outcome is Outcome.FAIL


def test_an_unknown_environment_says_how_to_know_it() -> None:
    declared = host(units=SCRIPTED)
    (found,) = configuration.environment(declared, observation(), {"router": {"SGLANG_R": "1"}})
    for part in (
        "`./invoke restart --host gpu1 --unit router`",
        f"`export SPT_NOENV=1` in {ROUTER}",
        "`script`",
    ):
        assert part in found.message


class Titled(FakeHost):
    """A host whose router overwrites its environment with its title."""

    def _unit(self, unit: RunningUnit) -> dict[str, Any]:
        found = super()._unit(unit)
        if unit.unit.role == "router":
            found["processes"] |= {"kind": "unknown", "environ": {}}
        return found


def with_a_router_script() -> Titled:
    """Two releases that hold the router's script, the younger with a flag in it."""
    scripted = host(units=SCRIPTED, validations=())
    fake = Titled(host=scripted, load=clean, files={ROUTER: PLAIN})
    deploy(fake)
    fake.files[ROUTER] = FLAGGED
    deploy(fake)
    return fake


def test_a_deploy_is_not_held_up_by_a_router_without_flags_whose_environment_is_blank() -> None:
    fake = Titled(host=host(units=SCRIPTED), files={ROUTER: PLAIN})
    assert deploy(fake).exit_code == 0


def test_a_rollback_to_a_release_of_a_script_that_the_host_file_left_out_since_is_well() -> None:
    fake = with_a_router_script()
    left_out = host()
    assert deploy(fake, wanted=left_out).exit_code == 0
    story = rollback(fake, wanted=left_out)
    assert story.exit_code == 0, story.findings


def test_it_says_of_a_script_that_it_puts_back_for_nobody_that_nothing_restarts_for_it() -> None:
    fake = with_a_router_script()
    first = min(fake.releases.values(), key=lambda release: release["created"])["id"]
    story = rollback(fake, Options(to=first), wanted=host())
    assert story.exit_code == 0, story.findings
    assert fake.files[ROUTER] == PLAIN
    assert story.plan is not None
    assert (
        f"{ROUTER} is put back, but no unit of hosts/gpu1.yml declares it: nothing restarts for it"
        in story.plan.notes
    )
