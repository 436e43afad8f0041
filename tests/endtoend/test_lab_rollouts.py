"""Each path of a rollout once on the real lab: SSH, helper, units, router, load."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from runbook import adopting, inventory, lab
from runbook.request import Request
from tests.endtoend.story import Desk, reached

pytestmark = pytest.mark.real

OVERLAP, TOPK = b"export SGLANG_OPT_USE_MULTI_STREAM_OVERLAP=0", b"SGLANG_OPT_USE_TOPK_V2"


def test_the_whole_story_verify_deploy_again_wrong_flag_rollback(before: Desk) -> None:
    old = before.scripts

    verified = before.document("verify")
    assert verified["exit_code"] == 1
    failures = [finding["message"] for finding in verified["findings"] if finding["outcome"] == "fail"]
    assert any("SGLANG_OPT_USE_TOPK_V2" in message for message in failures)
    assert any("SGLANG_OPT_USE_MULTI_STREAM_OVERLAP" in message for message in failures)
    assert any("sessions corrupt" in message for message in failures)
    assert before.scripts == old

    deployed = before.document("deploy")
    assert deployed["exit_code"] == 0, deployed["findings"]
    assert OVERLAP in before.scripts["serve_dsv4_decode.sh"]
    assert TOPK not in b"".join(before.scripts.values())
    lines = [line for run in deployed["validations"] for line in run["lines"]]
    assert "CORRUPTION sessions: 0/80 = 0%" in lines
    assert "CORRUPTION sessions: 0/60 = 0%" in lines
    assert [run["counts"] for run in deployed["validations"][:2]] == [{"maxrounds": 80}, {"maxrounds": 60}]
    assert deployed["bench"]["comparison"] is not None
    assert deployed["audit"]["seq"] == 2

    again = before.document("plan")
    assert (again["plan"]["changes"], again["plan"]["restarts"]) == ([], [])

    good = before.scripts
    wrong = before.document("deploy", "--set", "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP=1", "--yes")
    assert wrong["exit_code"] == 1
    assert wrong["rolled_back_to"] == deployed["release"]
    assert before.scripts == good

    back = before.document("rollback")
    assert back["exit_code"] == 0, back
    assert before.scripts == old


def test_a_dry_run_changes_nothing_and_leaves_no_state(before: Desk) -> None:
    old = before.scripts
    document = before.document("deploy", "--dry-run")
    assert document["exit_code"] == 0
    assert document["plan"]["changes"]
    assert (before.scripts, before.state.exists()) == (old, False)


def test_the_plan_shown_is_the_plan_deployed(before: Desk) -> None:
    assert before.document("plan")["plan"] == before.document("deploy", "--skip-validation")["plan"]


def test_a_second_deploy_has_nothing_to_do(fixed: Desk) -> None:
    scripts = fixed.scripts
    document = fixed.document("deploy", "--skip-validation")
    assert (document["plan"]["changes"], document["plan"]["restarts"]) == ([], [])
    assert (document["exit_code"], fixed.scripts) == (0, scripts)


@pytest.mark.parametrize(
    "second",
    [
        ("deploy", "--skip-validation"),
        pytest.param(("restart", "--unit", "decode"), marks=pytest.mark.heavy),
        pytest.param(("verify",), marks=pytest.mark.heavy),
    ],
)
def test_a_held_lock_ends_who_changes_or_measures_with_the_holders_name(
    before: Desk, second: tuple[str, ...]
) -> None:
    with before.start("deploy", "--skip-validation", "--verbose") as first:
        assert reached(first, "restart prefill …")
        refused = before.document(*second)
        first.communicate(timeout=60)
    assert (first.returncode, refused["exit_code"]) == (0, 6)
    assert "now at: restart prefill" in refused["error"]


# On a host in memory every moment is tried (tests/test_rollout.py); here the ones that differ on a real one.
STEPS = ["lock", "write", "restart decode", "verdict"]
MORE_STEPS = ["observe again", "save what is there", "restart prefill", "ready"]


@pytest.mark.parametrize(
    "step", [*STEPS, *(pytest.param(step, marks=pytest.mark.heavy) for step in MORE_STEPS)]
)
def test_ctrl_c_leaves_old_or_new_bytes_no_lock_and_the_next_deploy_ends_right(
    before: Desk, step: str
) -> None:
    old = before.scripts
    with before.start("deploy", "--skip-validation", "--verbose") as process:
        assert reached(process, f" {step} …")
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=60)
    assert process.returncode in (130, 0), told
    stopped = before.scripts
    assert before.lock_is_free()
    assert before.document("deploy", "--skip-validation")["exit_code"] == 0
    assert stopped in (old, before.scripts)
    assert before.document("status")["status"]["inflight"] is None


def test_kill_of_the_controller_mid_restart_is_told_by_status_and_healed_by_the_next_deploy(
    before: Desk,
) -> None:
    with before.start("deploy", "--skip-validation", "--verbose") as process:
        assert reached(process, "restart prefill …")
        process.kill()
    assert before.lock_is_free(within_s=60)
    told = before.document("status")["status"]["inflight"]
    assert [(step["name"], step["ended"] is not None) for step in told["steps"]] == [
        ("write", True),
        ("restart prefill", False),
    ]
    assert before.document("deploy", "--skip-validation")["exit_code"] == 0
    assert before.document("status")["status"]["inflight"] is None


def test_an_unknown_host_lists_the_known_ones(before: Desk) -> None:
    code, text = before.invoke("verify", "--host", "gpu9")
    assert code == 2
    assert "gpu9" in text
    assert "lab" in text


def test_a_missing_script_is_named_and_nothing_is_changed(before: Desk) -> None:
    script = before.directory / ".lab" / "host" / "root" / "serve_dsv4_decode.sh"
    content = script.read_bytes()
    script.unlink()
    try:
        document = before.document("deploy", "--skip-validation")
    finally:
        script.write_bytes(content)
        script.chmod(0o755)
    assert document["exit_code"] == 2
    assert "serve_dsv4_decode.sh" in document["error"]


def test_a_stale_flag_in_a_drop_in_is_refused_then_edited_reloaded_restarted_and_rolled_back(
    before: Desk,
) -> None:
    drop_in = before.directory / ".lab" / "units" / "sglang-dsv4-decode.service.d" / "flags.conf"
    stale = b"[Service]\nEnvironment=SGLANG_OPT_USE_TOPK_V2=0 HF_TOKEN=hf_sesame\n"
    drop_in.parent.mkdir(exist_ok=True)
    drop_in.write_bytes(stale)
    hosts = before.directory / "hosts" / "lab.yml"
    text = hosts.read_text()
    try:
        subprocess.run([before.directory / ".lab" / "bin" / "systemctl", "daemon-reload"], check=True)
        refused = before.document("deploy", "--skip-validation")
        assert refused["exit_code"] == 2
        assert f"{drop_in}:2" in refused["error"]
        assert drop_in.read_bytes() == stale

        script = '    script: "{{ lab.root }}/host/root/serve_dsv4_decode.sh"\n'
        hosts.write_text(text.replace(script, f'{script}    drop_ins: ["{drop_in}"]\n'))
        planned = before.document("plan")["plan"]
        deployed = before.document("deploy", "--skip-validation")
        assert deployed["exit_code"] == 0, deployed
        assert deployed["plan"] == planned
        assert "hf_sesame" not in str(deployed)
        assert drop_in.read_bytes() == b"[Service]\nEnvironment=HF_TOKEN=hf_sesame\n"
        steps = [step["name"] for step in deployed["steps"]]
        assert steps.index("write") < steps.index("daemon-reload") < steps.index("restart decode")

        back = before.document("rollback")
        assert back["exit_code"] == 0, back
        assert "daemon-reload" in [step["name"] for step in back["steps"]]
        assert drop_in.read_bytes() == stale
    finally:
        hosts.write_text(text)
        drop_in.unlink()
        drop_in.parent.rmdir()


def test_a_live_host_is_adopted_into_a_file_that_loads_and_plans_nothing(
    before: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    state = lab.status(before.directory / ".lab")
    assert state is not None
    variables = {"lab": state.variables()}
    target = inventory.load("lab", hosts_dir=before.directory / "hosts", variables=variables).ssh
    request = Request("hosts.adopt", hosts=("gpu1",), json=True, directory=before.directory)
    path = before.directory / "hosts" / "gpu1.yml"
    try:
        assert adopting.run(request, target=target) == 0
        document = json.loads(capsys.readouterr().out)
        assert (document["path"], document["text"]) == (str(path), path.read_text())
        host = inventory.load("gpu1", hosts_dir=before.directory / "hosts")
        assert [unit.role for unit in host.units] == ["prefill", "decode", "router"]
        assert (host.endpoint, host.model) == (host.unit("router"), "deepseek-v4-flash")
        assert {flag.name: flag.value for flag in host.flags}["SGLANG_OPT_USE_TOPK_V2"] == "0"
        planned = before.document("plan", "--host", "gpu1")["plan"]
        assert (planned["changes"], planned["restarts"]) == ([], [])
        kept = path.read_bytes()
        assert (adopting.run(request, target=target), path.read_bytes()) == (2, kept)
    finally:
        path.unlink(missing_ok=True)
