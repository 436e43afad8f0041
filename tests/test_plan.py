from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runbook import planning
from runbook.errors import EditRefusedError, MissingOnHostError
from runbook.model import Unit
from tests.building import (
    DECODE,
    FLAGS,
    OVERLAP,
    PREFILL,
    TOPK,
    file_state,
    host,
    observation,
    script,
    unit_state,
)

if TYPE_CHECKING:
    from runbook.plan import Plan

FIXED = script(**{OVERLAP: "0"})
CLEAN = script()
RUNNING_RIGHT = {
    "prefill.service": unit_state("prefill.service"),
    "decode.service": unit_state("decode.service", {OVERLAP: "0"}),
}


def converged(**fields: Any) -> Plan:
    return planning.deploy(
        host(), observation(prefill=CLEAN, decode=FIXED, **({"units": RUNNING_RIGHT} | fields))
    )


def test_the_stale_flag_goes_the_fix_comes_and_both_units_restart() -> None:
    made = planning.deploy(host(), observation())
    assert [change.path for change in made.changes] == [PREFILL, DECODE]
    assert f"-export {TOPK}=0" in made.changes[0].diff()
    assert f"+export {OVERLAP}=0" in made.changes[1].diff()
    assert [restart.role for restart in made.restarts] == ["prefill", "decode"]
    assert f"{TOPK} is '0', wanted absent" in made.restarts[0].why


def test_a_host_that_is_as_wanted_gets_an_empty_plan() -> None:
    assert converged().empty


def test_a_unit_whose_file_is_right_but_whose_process_is_not_restarts() -> None:
    units = RUNNING_RIGHT | {"decode.service": unit_state("decode.service")}
    made = converged(units=units)
    assert made.changes == ()
    assert [(restart.role, restart.why) for restart in made.restarts] == [
        ("decode", f"running environment differs: {OVERLAP} is absent, wanted '0'")
    ]


def test_a_restarted_prefill_takes_decode_along() -> None:
    units = RUNNING_RIGHT | {"prefill.service": unit_state("prefill.service", {TOPK: "0"})}
    assert [(r.role, r.why) for r in converged(units=units).restarts][1] == (
        "decode",
        "pair: prefill restarts",
    )


def test_a_restarted_decode_leaves_prefill_alone() -> None:
    units = RUNNING_RIGHT | {"decode.service": unit_state("decode.service")}
    assert [restart.role for restart in converged(units=units).restarts] == ["decode"]


def test_a_stopped_unit_is_started() -> None:
    stopped = unit_state(
        "router.service", kind="unknown", ActiveState="inactive", SubState="dead", MainPID="0"
    )
    made = converged(units=RUNNING_RIGHT | {"router.service": stopped})
    assert [(restart.role, restart.why) for restart in made.restarts] == [
        ("router", "not running (inactive/dead)")
    ]


def test_an_unknown_environment_alone_is_no_reason_to_restart() -> None:
    unknown = unit_state("decode.service", kind="unknown")
    assert converged(units=RUNNING_RIGHT | {"decode.service": unknown}).empty


def test_an_unknown_environment_restarts_when_the_script_changed_after_the_start() -> None:
    unknown = unit_state("decode.service", kind="unknown", started_at=100.0)
    seen = observation(prefill=CLEAN, decode=FIXED, units=RUNNING_RIGHT | {"decode.service": unknown})
    files = dict(seen.files) | {DECODE: file_state(DECODE, FIXED, ctime_s=101.0)}
    made = planning.deploy(host(), seen._replace(files=files))
    assert [restart.role for restart in made.restarts] == ["decode"]


def test_values_that_look_secret_are_not_compared_since_the_host_masks_them() -> None:
    secret = script(HF_TOKEN="abc", DB_PASSWD="def", **{OVERLAP: "0"})
    units = RUNNING_RIGHT | {
        "decode.service": unit_state("decode.service", {OVERLAP: "0", "HF_TOKEN": "***", "DB_PASSWD": "***"})
    }
    seen = observation(prefill=CLEAN, decode=secret, units=units)
    assert planning.deploy(host(), seen).empty


def test_equal_observations_give_equal_digests_and_other_bytes_another() -> None:
    assert planning.deploy(host(), observation()).digest == planning.deploy(host(), observation()).digest
    other = observation(decode=script(OTHER="1", **{TOPK: "0"}))
    assert planning.deploy(host(), other).digest != planning.deploy(host(), observation()).digest


def test_missing_scripts_and_units_are_named_together_with_the_host() -> None:
    seen = observation(units={"decode.service": unit_state("decode.service", LoadState="not-found")})
    with pytest.raises(MissingOnHostError, match=r"gpu1: not on the host: unit decode\.service"):
        planning.deploy(host(), seen)
    files = {path: file_state(path, None) for path in (PREFILL, DECODE)}
    with pytest.raises(MissingOnHostError, match=f"script {PREFILL}, script {DECODE}"):
        planning.deploy(host(), observation()._replace(files=files))


def test_a_refused_edit_names_the_file() -> None:
    conditional = f"#!/bin/bash\nif true; then export {TOPK}=0; fi\nexec python -m x\n".encode()
    with pytest.raises(EditRefusedError, match=PREFILL):
        planning.deploy(host(), observation(prefill=conditional))


def test_units_that_share_a_script_must_agree_on_its_flags() -> None:
    units = tuple(unit if unit.role != "decode" else unit_with_script(PREFILL) for unit in host().units)
    flags = (*FLAGS, type(FLAGS[0])(OVERLAP, "1", "other", ("prefill",)))
    with pytest.raises(EditRefusedError, match=OVERLAP):
        planning.deploy(host(units=units, flags=flags), observation())


def test_a_changed_unit_file_asks_for_a_daemon_reload() -> None:
    units = RUNNING_RIGHT | {
        "router.service": unit_state("router.service", kind="unknown", NeedDaemonReload="yes")
    }
    made = converged(units=units)
    assert made.daemon_reload
    assert not made.empty


def unit_with_script(path: str) -> Unit:
    return Unit("decode", "decode.service", path, "http://127.0.0.1:30002/health")


EVAL = b'#!/bin/bash\neval "$(conda shell.bash hook)"\nexport %s=0\nexec python\n' % OVERLAP.encode()


@pytest.mark.parametrize(
    ("ctime_s", "environ", "want"),
    [
        (500.0, {OVERLAP: "0", TOPK: "1"}, None),
        (500.0, {OVERLAP: "1"}, f"running environment differs: {OVERLAP} is '1', wanted '0'"),
        (1500.0, {OVERLAP: "0", TOPK: "1"}, f"running environment differs: {TOPK} is '1', wanted absent"),
        (500.0, {OVERLAP: "0"}, None),
    ],
)
def test_what_an_eval_may_set_at_every_start_restarts_only_for_a_newer_script(
    ctime_s: float, environ: dict[str, str], want: str | None
) -> None:
    look = observation(
        decode=EVAL,
        prefill=script(),
        units={**RUNNING_RIGHT, "decode.service": unit_state("decode.service", environ)},
    )
    files = {**look.files, DECODE: file_state(DECODE, EVAL, ctime_s=ctime_s)}
    made = planning.deploy(host(), look._replace(files=files))
    assert made.changes == ()
    assert {restart.role: restart.why for restart in made.restarts}.get("decode") == want
    assert made.notes[-1] == (
        f"not known what it sets: {DECODE}: line 2: eval runs text that only a run knows"
    )


def test_what_a_source_nobody_can_follow_may_set_is_said_and_restarts_nothing_by_itself() -> None:
    text = b'#!/bin/bash\n. "$HOME/env.sh"\nexport %s=0\nexec python\n' % OVERLAP.encode()
    decode = unit_state("decode.service", {OVERLAP: "0", TOPK: "1"})
    look = observation(decode=text, prefill=script(), units={**RUNNING_RIGHT, "decode.service": decode})
    files = {**look.files, DECODE: file_state(DECODE, text, ctime_s=500.0)}
    made = planning.deploy(host(), look._replace(files=files))
    assert (made.changes, made.restarts) == ((), ())
    assert made.notes[-1] == (
        f'not known what it sets: {DECODE}:2 sources "$HOME/env.sh", and only a run can tell which file that is'
    )
