"""plan, deploy, status, verify and rollback over real sshd against real systemd, as an operator runs them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.system.service import laying

if TYPE_CHECKING:
    from pathlib import Path

    from tests.system.hosts import TestHost
    from tests.system.operators import Operator

pytestmark = pytest.mark.system


def test_a_plan_shows_the_edits_and_the_restarts_and_changes_nothing(
    operator: Operator, host: TestHost
) -> None:
    before = laying.pids(host)
    planned = operator.run("plan", "gpu1")
    assert planned.code == 0
    assert [change["path"] for change in planned.document["plan"]["changes"]] == [
        laying.script("prefill"),
        laying.script("decode"),
    ]
    assert [restart["unit"] for restart in planned.document["plan"]["restarts"]] == [
        laying.unit("prefill"),
        laying.unit("decode"),
    ]
    assert laying.pids(host) == before
    assert host.read(laying.script("decode")) == laying.before("decode")
    assert host.sh(f"ls {laying.STATE} 2>/dev/null || true") == ""


def test_a_deploy_reaches_the_running_processes_and_a_rollback_takes_them_back(
    operator: Operator, host: TestHost
) -> None:
    deployed = operator.run("deploy", "gpu1", skip_validation=True)
    assert (deployed.code, deployed.document["outcome"]) == (0, "pass")
    assert host.read(laying.script("decode")) == laying.after("decode")
    assert laying.running(host, "decode") == {laying.OVERLAP: "0", "SGLANG_SM120_MMA_FLASHMLA": "1"}

    returned = operator.run("rollback", "gpu1")
    assert returned.code == 0
    assert host.read(laying.script("decode")) == laying.before("decode")
    assert laying.running(host, "decode") == {laying.TOPK: "0", "SGLANG_SM120_MMA_FLASHMLA": "1"}
    assert [record["action"] for record in laying.audit(host)] == ["deploy", "rollback"]


def test_a_second_deploy_restarts_nothing(operator: Operator, host: TestHost) -> None:
    operator.run("deploy", "gpu1", skip_validation=True)
    before = laying.pids(host)
    again = operator.run("deploy", "gpu1", skip_validation=True)
    assert again.code == 0
    assert again.document["plan"]["changes"] == again.document["plan"]["restarts"] == []
    assert laying.pids(host) == before


def test_a_restart_that_was_lost_is_made_up_for(operator: Operator, host: TestHost) -> None:
    for role in ("prefill", "decode"):  # somebody edited and never restarted
        host.put(laying.script(role), laying.after(role), 0o755)
    planned = operator.run("plan", "gpu1").document["plan"]
    assert planned["changes"] == []
    assert [restart["unit"] for restart in planned["restarts"]] == [
        laying.unit("prefill"),
        laying.unit("decode"),
    ]
    assert operator.run("deploy", "gpu1", skip_validation=True).code == 0
    assert laying.running(host, "decode")[laying.OVERLAP] == "0"


def test_drift_is_exit_5_and_names_the_flag(operator: Operator) -> None:
    verified = operator.run("verify", "gpu1", skip_validation=True)
    assert verified.code == 5
    failed = [one["message"] for one in verified.document["findings"] if one["outcome"] == "fail"]
    assert any(laying.OVERLAP in message for message in failed)


def test_a_stopped_unit_is_started(operator: Operator, host: TestHost) -> None:
    operator.run("deploy", "gpu1", skip_validation=True)
    host.run(["systemctl", "stop", laying.unit("decode")])
    assert operator.run("deploy", "gpu1", skip_validation=True).code == 0
    assert laying.running(host, "decode")[laying.OVERLAP] == "0"


def test_two_deploys_at_once_end_with_one_at_work_and_one_that_names_it(
    operator: Operator, host: TestHost, tmp_path: Path
) -> None:
    first = operator.start("deploy", "gpu1", held=True, skip_validation=True)
    for name in first.steps():
        if name.startswith("restart"):
            second = operator.run("deploy", "gpu1", skip_validation=True)
            break
    assert second.code == 6
    assert first.end().code == 0
    assert "deploy" in second.document["error"]


def test_a_second_host_file_of_the_machine_waits_for_the_first_and_is_told_to_share_its_state(
    operator: Operator, host: TestHost
) -> None:
    declared = (operator.directory / "hosts" / "gpu1.yml").read_text()
    operator.describe("twin", re.sub(r"(?m)^service:.*\n", "", declared) + "service: twin\n")
    first = operator.start("deploy", "gpu1", held=True, skip_validation=True)
    for name in first.steps():
        if name.startswith("restart"):
            second = operator.run("deploy", "twin", skip_validation=True)
            break
    assert (second.code, first.end().code) == (6, 0)
    assert f"by {laying.STATE}, which has {laying.unit('decode')}" in second.document["error"]
    (warning,) = operator.run("plan", "twin").document["warnings"]
    assert warning.startswith(f"warning: {laying.STATE} on this host also keeps releases of ")
    back = operator.run("rollback", "twin")
    assert (back.code, back.document["warnings"]) == (2, [warning])


def test_a_rollback_works_with_a_broken_script_and_a_dead_server(operator: Operator, host: TestHost) -> None:
    operator.run("deploy", "gpu1", skip_validation=True)
    host.put(laying.script("decode"), b"#!/bin/bash\nif then (", 0o755)
    host.run(["systemctl", "kill", "--signal=KILL", laying.unit("decode")])
    refused = operator.run("rollback", "gpu1")
    assert refused.code == 2
    assert laying.script("decode") in refused.document["error"]
    assert operator.run("rollback", "gpu1", force=True).code == 0
    assert host.read(laying.script("decode")) == laying.before("decode")
    assert laying.running(host, "decode")[laying.TOPK] == "0"


def test_a_rollback_works_with_a_script_that_is_gone(operator: Operator, host: TestHost) -> None:
    operator.run("deploy", "gpu1", skip_validation=True)
    host.run(["rm", laying.script("decode")])
    assert operator.run("rollback", "gpu1", force=True).code == 0
    assert host.read(laying.script("decode")) == laying.before("decode")


def test_another_operator_without_any_local_state_rolls_back(
    operator: Operator, host: TestHost, operators_elsewhere: Operator
) -> None:
    operator.run("deploy", "gpu1", skip_validation=True)
    operators_elsewhere.describe("gpu1", laying.host_file(host))
    assert operators_elsewhere.run("rollback", "gpu1").code == 0
    assert host.read(laying.script("decode")) == laying.before("decode")


def test_restore_sh_brings_the_files_back_without_python_on_the_host(
    operator: Operator, host: TestHost
) -> None:
    operator.run("deploy", "gpu1", skip_validation=True)
    release = json.loads(json.dumps(operator.run("releases", "gpu1").document["releases"]))
    adopted = next(one["id"] for one in release if one["verdict"] == "adopted")
    host.sh("mv /usr/bin/python3 /usr/bin/python3.hidden")
    try:
        host.run([f"{laying.STATE}/releases/{adopted}/restore.sh"])
    finally:
        host.sh("mv /usr/bin/python3.hidden /usr/bin/python3")
    assert host.read(laying.script("decode")) == laying.before("decode")
    assert host.run(["stat", "-c", "%a %U", laying.script("decode")]).split() == ["755", "root"]


def test_a_full_disk_ends_before_the_first_byte(operator: Operator, host: TestHost) -> None:
    with host.full_disk(leave_bytes=1_000_000):
        refused = operator.run("deploy", "gpu1", skip_validation=True)
    assert refused.code == 2
    assert "free" in refused.document["error"]
    assert host.read(laying.script("decode")) == laying.before("decode")


def test_a_read_only_file_system_ends_before_the_first_byte(operator: Operator, host: TestHost) -> None:
    with host.read_only("/root"):
        refused = operator.run("deploy", "gpu1", skip_validation=True)
    assert refused.code == 2
    assert "read-only" in refused.document["error"]
    assert host.read(laying.script("decode")) == laying.before("decode")


def test_a_unit_that_crashes_at_once_rolls_back_by_itself_with_its_journal(
    operator: Operator, host: TestHost
) -> None:
    broken = laying.FLAGS | {"STANDIN_CRASH": {"value": "1", "units": ["decode"], "why": "to see it fail"}}
    operator.describe("gpu1", laying.host_file(host, flags=broken))
    failed = operator.run("deploy", "gpu1", skip_validation=True)
    assert failed.code == 1
    assert failed.document["rolled_back_to"]
    assert host.read(laying.script("decode")) == laying.before("decode")
    assert laying.running(host, "decode")[laying.TOPK] == "0"
    (gate,) = [
        one for one in failed.document["findings"] if one["check"] == "unit" and one["outcome"] == "fail"
    ]
    assert "told to crash" in gate["evidence"]["journal"]
