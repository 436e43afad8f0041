"""How a deploy ends when a unit cannot come up, and that nothing we do leaves one stopped."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

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


@pytest.fixture
def operator(operators: Operator, host: TestHost) -> Operator:
    laying.lay(host)
    operators.describe("gpu1", laying.host_file(host))
    return operators


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


def test_a_taken_port_names_who_holds_it(operator: Operator, host: TestHost) -> None:
    host.sh(f"systemctl stop {DECODE}")
    host.run(["systemd-run", "--quiet", "--unit=orphan", "--collect", "python3", "-I", "-S", "-c", HOLD_PORT])
    try:
        host.sh("until ss -ltn | grep -q :30002; do sleep 0.05; done")
        failed = operator.run("deploy", "gpu1", skip_validation=True)
    finally:
        host.run(["systemctl", "stop", "orphan"])
    assert failed.code == 1
    assert "orphan.service" in str(failed.document["findings"]) + str(failed.document["error"])


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
        host.run(["pkill", "--signal", "KILL", "--newest", "--full", "import sys,zlib"])
    command.end()
    wait_for(host, "ActiveState", "active")
    assert laying.running(host, "decode") == laying.exported(laying.after("decode"))


def wait_for(host: TestHost, name: str, value: str) -> None:
    until = time.monotonic() + 20.0
    while (seen := properties(host))[name] != value:
        assert time.monotonic() < until, f"waited for {name}={value}, found {seen}"
        time.sleep(0.05)
