"""How a deploy ends when a unit cannot come up, and that nothing we do leaves one stopped."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.system.controller import Controller
from tests.system.faults import HELPER
from tests.system.service import laying

if TYPE_CHECKING:
    from tests.system.hosts import TestHost
    from tests.system.operators import Operator

pytestmark = pytest.mark.system

DECODE = laying.unit("decode")
# Takes two seconds to go.
SLOW_TO_STOP = b"[Service]\nExecStop=/bin/sleep 2\n"
# As an orphan of a former server would hold it.
HOLD_PORT = (
    "import socket, time; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); "
    "s.bind(('127.0.0.1', 30002)); s.listen(); print('held', flush=True); time.sleep(600)"
)
# One GPU with errors, filled by prefill.
NVIDIA_SMI = f"""#!/bin/sh
case "$1" in
  --query-gpu=*) echo "0, NVIDIA H20, 580.65.06, 96000, 97887, 2" ;;
  --query-compute-apps=*) echo "$(systemctl show --property=MainPID --value {laying.unit("prefill")}), 90000" ;;
esac
"""


def properties(host: TestHost) -> dict[str, str]:
    shown = host.run(
        ["systemctl", "show", "--property=LoadState,ActiveState,SubState,Result,NRestarts", DECODE]
    )
    return dict(line.split("=", 1) for line in shown.splitlines())


def test_a_masked_unit_is_refused_before_anything_is_touched(operator: Operator, host: TestHost) -> None:
    path = f"/etc/systemd/system/{DECODE}"
    host.sh(f"systemctl stop {DECODE}; ln -sfn /dev/null {path}; systemctl daemon-reload")
    try:
        refused = operator.run("deploy", "gpu1", skip_validation=True)
    finally:
        host.run(["rm", path])
    assert refused.code in (1, 2)
    assert "masked" in refused.document["error"]


def test_a_unit_that_is_not_there_is_refused_before_anything_is_touched(
    operator: Operator, host: TestHost
) -> None:
    host.sh(f"systemctl stop {DECODE}; rm /etc/systemd/system/{DECODE}; systemctl daemon-reload")
    refused = operator.run("deploy", "gpu1", skip_validation=True)
    assert refused.code == 2
    assert DECODE in refused.document["error"]
    assert host.read(laying.script("decode")) == laying.before("decode")


def test_a_unit_at_its_start_limit_is_started_all_the_same(operator: Operator, host: TestHost) -> None:
    path = f"/etc/systemd/system/{DECODE}"
    limited = host.read(path).replace(
        b"StartLimitIntervalSec=0", b"StartLimitIntervalSec=600\nStartLimitBurst=2"
    )
    host.put(path, limited)
    host.sh(f"systemctl daemon-reload; for i in 1 2 3; do systemctl restart {DECODE} || true; done")
    assert properties(host)["Result"] == "start-limit-hit"
    assert operator.run("deploy", "gpu1", skip_validation=True).code == 0
    assert laying.running(host, "decode") == laying.exported(laying.after("decode"))


def test_the_taken_port_of_a_unit_that_is_down_is_told_before_anything_is_touched(
    operator: Operator, host: TestHost
) -> None:
    host.sh(f"systemctl stop {DECODE}")
    host.run(["systemd-run", "--quiet", "--unit=orphan", "--collect", "python3", "-I", "-S", "-c", HOLD_PORT])
    try:
        host.sh("until ss -ltn | grep -q :30002; do sleep 0.05; done")
        failed = operator.run("deploy", "gpu1", skip_validation=True)
    finally:
        host.run(["systemctl", "stop", "orphan"])
    assert failed.code == 2
    assert "port 30002 is held by pid" in failed.document["error"]
    assert "orphan.service" in failed.document["error"]
    assert host.read(laying.script("decode")) == laying.before("decode")


@pytest.mark.parametrize("loads_s", [0, 2])
def test_an_orphan_of_the_former_server_on_its_port_is_named_and_never_taken_for_the_next_start(
    operator: Operator, host: TestHost, loads_s: int
) -> None:
    """As after a SIGKILL of SGLang's parent: the scheduler lives on in the unit's control group, a child of PID 1.

    It answers until the new server has loaded and finds its port taken.
    """
    starting = f"sleep {loads_s}; {laying.script('decode')} & wait $!"
    drop_in(host, f"KillMode=process\nExecStart=\nExecStart=/bin/bash -c '{starting}'\n")
    host.run(["systemctl", "restart", DECODE])
    laying.wait_serving(host)
    orphan = host.run(["pgrep", "--full", "server.py decode"]).strip()
    try:
        failed = operator.run("deploy", "gpu1", skip_validation=True)
    finally:
        host.sh(f"systemctl stop {DECODE}; pkill --signal KILL --full '[s]erver.py decode' || true")
    assert failed.code == 4, f"the rollback cannot start it either: {failed.document['findings']}"
    assert f"port 30002 is held by pid {orphan} of {DECODE}, an orphan" in str(failed.document["findings"])


@pytest.mark.parametrize("signal_name", ["SIGTERM", "SIGKILL"])
def test_a_start_that_waits_for_another_unit_is_waited_for_however_the_stop_ended(
    operator: Operator, host: TestHost, signal_name: str
) -> None:
    """Killed, a unit is failed until its start begins; else it is inactive."""
    host.put("/etc/systemd/system/first.service", b"[Service]\nType=oneshot\nExecStart=/bin/sleep 1\n")
    drop_in(host, f"KillSignal={signal_name}\n[Unit]\nWants=first.service\nAfter=first.service\n")
    try:
        deployed = operator.run("deploy", "gpu1", skip_validation=True)
    finally:
        host.run(["rm", "/etc/systemd/system/first.service"])
    assert deployed.code == 0, deployed.document["findings"]
    assert laying.running(host, "decode") == laying.exported(laying.after("decode"))


def test_a_full_gpu_names_who_holds_its_memory_and_its_errors_are_told_before(
    operators: Operator, host: TestHost
) -> None:
    laying.lay(host)
    operators.describe("gpu1", laying.host_file(host, policy={"on_unhealthy": "keep"}))
    drop_in(host, "Restart=no\nExecStart=\nExecStart=/bin/sh -c 'echo CUDA out of memory; exit 1'\n")
    host.put("/usr/local/bin/nvidia-smi", NVIDIA_SMI.encode(), 0o755)
    try:
        failed = operators.run("deploy", "gpu1", skip_validation=True)
    finally:
        host.run(["rm", "/usr/local/bin/nvidia-smi"])
    (found,) = (one for one in failed.document["findings"] if one["check"] == "unit")
    holder = laying.pids(host)["prefill"]
    assert "GPU memory in use: 0: 96000 of 97887 MiB" in found["message"]
    assert f"90000 MiB of GPU memory are held by pid {holder} of {laying.unit('prefill')}" in found["message"]
    assert failed.document["warnings"] == ["GPU 0 (NVIDIA H20) has 2 uncorrected ECC errors"]


@pytest.mark.heavy
def test_a_driver_that_hangs_holds_up_the_refusal_of_a_wrong_model_once(
    operators: Operator, host: TestHost
) -> None:
    laying.lay(host)
    operators.describe("gpu1", laying.host_file(host, model="another"))
    host.put("/usr/local/bin/nvidia-smi", b"#!/bin/sh\nexec sleep 300\n", 0o755)
    try:
        refused = operators.run("deploy", "gpu1", skip_validation=True)
    finally:
        host.run(["rm", "/usr/local/bin/nvidia-smi"])
    assert (refused.code, "model another does not exist" in refused.document["error"]) == (2, True)
    record = Controller(operators.directory, operators.environ).run("audit.show", refused.rollout).document
    asked = [row for row in record["programs"] if row["command"].startswith("nvidia-smi")]
    assert [(row["call"], row["times"], row["error"]) for row in asked] == [
        ("machine", 1, "no answer within 8 s")
    ]
    assert record["facts"]["gpus"] == []


@pytest.mark.parametrize(
    ("service", "says"),
    [
        ("Type=oneshot\nRestart=no\nExecStart=\nExecStart=/bin/echo this start speaks\n", "inactive/dead"),
        ("Restart=no\nExecStart=\nExecStart=/bin/sh -c 'echo this start speaks; exit 3'\n", "exit-code, exit status 3"),
        ("Restart=always\nExecStart=\nExecStart=/bin/sh -c 'echo this start speaks; exit 3'\n", "crashed"),
    ],
    ids=["oneshot", "failed", "crash loop"],
)  # fmt: skip
def test_a_state_that_no_waiting_mends_ends_at_once_with_the_journal_of_this_start(
    operators: Operator, host: TestHost, service: str, says: str
) -> None:
    laying.lay(host)
    operators.describe("gpu1", laying.host_file(host, policy={"on_unhealthy": "keep"}))
    host.run(["systemd-cat", "--identifier=decode", "echo", "an earlier start spoke"])
    drop_in(host, service)
    ended = operators.run("deploy", "gpu1", skip_validation=True)
    (found,) = (one for one in ended.document["findings"] if one["check"] == "unit")
    assert (ended.code, found["outcome"]) == (1, "fail"), found["message"]
    assert says in found["message"]
    assert "of 200" in found["message"], "it did not wait its time out"
    assert "its last words: this start speaks" in found["message"]
    assert "this start speaks" in found["evidence"]["journal"]
    assert "an earlier start spoke" not in found["evidence"]["journal"]
    assert len(found["evidence"]["journal"].splitlines()) <= 20


def drop_in(host: TestHost, service: str) -> None:
    host.put(f"/etc/systemd/system/{DECODE}.d/test.conf", f"[Service]\n{service}".encode())
    host.run(["systemctl", "daemon-reload"])


@pytest.mark.parametrize("who", ["controller", "helper"])
def test_a_death_of_ours_in_a_slow_stop_leaves_no_unit_stopped(
    operator: Operator, host: TestHost, who: str
) -> None:
    host.put(f"/etc/systemd/system/{DECODE}.d/slow.conf", SLOW_TO_STOP)
    host.run(["systemctl", "daemon-reload"])
    command = operator.start("deploy", "gpu1", skip_validation=True)
    wait_for(host, "ActiveState", "deactivating")
    if who == "controller":
        command.signal(signal.SIGKILL)
    else:
        host.run(["pkill", "--signal", "KILL", "--newest", "--full", HELPER])
    command.end()
    wait_for(host, "ActiveState", "active")
    assert laying.running(host, "decode") == laying.exported(laying.after("decode"))


def wait_for(host: TestHost, name: str, value: str) -> None:
    until = time.monotonic() + 20.0
    while (seen := properties(host))[name] != value:
        assert time.monotonic() < until, f"waited for {name}={value}, found {seen}"
        time.sleep(0.05)
