"""What running processes really run with, on real systemd: who can speak for a unit, and who is not believed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.system.service import laying

if TYPE_CHECKING:
    from tests.system.hosts import TestHost
    from tests.system.operators import Ended, Operator

pytestmark = pytest.mark.system

DECODE = laying.unit("decode")
FIXED = laying.exported(laying.after("decode"))


@pytest.fixture
def operator(operators: Operator, host: TestHost) -> Operator:
    """An operator whose host runs what its file wants."""
    laying.lay(host, laying.after)
    operators.describe("gpu1", laying.host_file(host))
    return operators


def restart(host: TestHost) -> None:
    host.run(["systemctl", "restart", DECODE])
    laying.wait_serving(host)


def run_script(host: TestHost, text: bytes) -> None:
    """Let decode run this serve script."""
    host.put(laying.script("decode"), text, 0o755)
    restart(host)


def evidence(operator: Operator) -> dict[str, Any]:
    """What status tells of the overlap flag on decode."""
    flags = operator.run("status", "gpu1").document["status"]["flags"]
    found: dict[str, Any] = next(one for one in flags if one["flag"] == laying.OVERLAP)
    return found


def restarts(operator: Operator) -> list[str]:
    planned = operator.run("plan", "gpu1").document["plan"]
    return [one["unit"] for one in planned["restarts"]]


def retitled(how: str, **exports: str) -> bytes:
    """The fixed script, whose server writes a title over its command line and its environment."""
    return laying.script_text("decode", FIXED | {"STANDIN_TITLE": how} | exports)


def lay_setproctitle(host: TestHost) -> None:
    """The real package on the host, beside the stand-in; skips where its binary is for another Python than the host's."""
    spec = importlib.util.find_spec("setproctitle")
    assert spec is not None
    assert spec.origin is not None
    for path in Path(spec.origin).parent.glob("*"):
        if path.suffix in (".py", ".so"):
            host.put(f"/opt/standin/setproctitle/{path.name}", path.read_bytes())
    loads = host.sh(
        "python3 -I -S -c 'import sys; sys.path.insert(0, \"/opt/standin\"); import setproctitle' 2>&1 || echo no"
    )
    if loads.strip().endswith("no"):
        pytest.skip("setproctitle's binary is for another Python than the test host's")


@pytest.mark.parametrize("how", ["memory", "setproctitle"])
def test_a_process_that_retitles_itself_is_unknown_and_no_reason_to_restart(
    operator: Operator, host: TestHost, how: str
) -> None:
    if how == "setproctitle":
        lay_setproctitle(host)
    run_script(host, retitled(how))
    assert b"SGLANG" not in host.read(f"/proc/{laying.pids(host)['decode']}/environ")
    assert (evidence(operator)["evidence"], evidence(operator)["running"]) == ("unknown", None)
    assert restarts(operator) == []
    assert operator.run("verify", "gpu1", skip_validation=True).code == 3


def test_what_we_started_is_remembered_for_this_very_process(operator: Operator, host: TestHost) -> None:
    run_script(
        host,
        laying.script_text("decode", laying.exported(laying.before("decode")) | {"STANDIN_TITLE": "memory"}),
    )
    assert operator.run("deploy", "gpu1", skip_validation=True).code == 0
    assert (evidence(operator)["evidence"], evidence(operator)["running"]) == ("recorded", "0")
    assert operator.run("verify", "gpu1", skip_validation=True).code == 0
    restart(host)  # by another hand: another process, of which we know nothing
    assert evidence(operator)["evidence"] == "unknown"


def test_a_pid_that_came_round_again_is_not_believed(operator: Operator, host: TestHost) -> None:
    run_script(
        host,
        laying.script_text("decode", laying.exported(laying.before("decode")) | {"STANDIN_TITLE": "memory"}),
    )
    operator.run("deploy", "gpu1", skip_validation=True)
    path = f"{laying.STATE}/starts.json"
    notes = json.loads(host.read(path))
    boot, pid, ticks = notes[DECODE]["identity"].split("/")
    assert int(pid) == laying.pids(host)["decode"]
    notes[DECODE]["identity"] = f"{boot}/{pid}/{int(ticks) - 100}"
    host.put(path, json.dumps(notes).encode(), 0o600)
    assert evidence(operator)["evidence"] == "unknown"


def test_a_script_edited_after_a_retitled_process_started_asks_for_a_restart(
    operator: Operator, host: TestHost
) -> None:
    run_script(host, retitled("memory"))
    host.sh(f"sleep 1.1; touch {laying.script('decode')}")
    assert restarts(operator) == [DECODE]


def test_the_child_of_a_bash_wrapper_speaks_for_the_unit(operator: Operator, host: TestHost) -> None:
    run_script(host, laying.after("decode").replace(b"exec python3", b"python3") + b"echo ended\n")
    main = laying.pids(host)["decode"]
    assert host.read(f"/proc/{main}/comm").startswith(b"serve_dsv4")
    assert (evidence(operator)["evidence"], evidence(operator)["running"]) == ("environ", "0")
    assert restarts(operator) == []


def test_an_environment_changed_by_a_drop_in_is_drift(operator: Operator, host: TestHost) -> None:
    host.put(
        f"/etc/systemd/system/{DECODE}.d/50-stale.conf", f"[Service]\nEnvironment={laying.TOPK}=0\n".encode()
    )
    host.run(["systemctl", "daemon-reload"])
    restart(host)
    verified = operator.run("verify", "gpu1", skip_validation=True)
    assert verified.code == 5
    assert any(laying.TOPK in message and "decode" in message for message in failures(verified))


def test_a_unit_file_that_was_edited_and_not_reloaded_is_reloaded_before_the_restart(
    operator: Operator, host: TestHost
) -> None:
    laying.lay(host)
    path = f"/etc/systemd/system/{DECODE}"
    host.put(path, host.read(path).replace(b"TimeoutStopSec=10", b"TimeoutStopSec=11"))
    deployed = operator.run("deploy", "gpu1", skip_validation=True)
    assert deployed.code == 0
    assert "daemon-reload" in deployed.steps
    assert host.run(["systemctl", "show", "--property=TimeoutStopUSec", "--value", DECODE]).strip() == "11s"


def test_secrets_of_a_script_do_not_leave_the_host_in_any_answer(operator: Operator, host: TestHost) -> None:
    laying.lay(host)
    exports = {"HF_TOKEN": "hf_sesame", "SGLANG_API_KEY": "open-sesame"} | laying.exported(
        laying.before("decode")
    )
    run_script(host, laying.script_text("decode", exports))
    answers = [
        operator.run(action, "gpu1", skip_validation=True)
        for action in ("plan", "deploy", "status", "releases")
    ]
    assert [answer.code for answer in answers] == [0, 0, 0, 0]
    assert "sesame" not in json.dumps([answer.document for answer in answers])
    assert "sesame" not in json.dumps(laying.audit(host))
    assert b"hf_sesame" in host.read(laying.script("decode"))


def failures(ended: Ended) -> list[str]:
    return [one["message"] for one in ended.document["findings"] if one["outcome"] == "fail"]
