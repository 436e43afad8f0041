"""Units of the login user, without root: `scope: user` on a host where the user's manager lingers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from runbook import adopting, inventory
from runbook.request import Request
from tests.system.service import laying
from tests.system.service.alone import FLAG, Alone
from tests.system.service.server import MODEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.system.hosts import TestHost
    from tests.system.operators import Operator

pytestmark = pytest.mark.system

USER, HOME = "nobodys", "/home/nobodys"  # in no sudoers file
SERVER = Alone("sglang-single", "serve.service", 30000, f"{HOME}/serve.sh")
UNIT = f"[Service]\nExecStart={SERVER.script}\nRestart=on-failure\nRestartSec=1\n"
STATE = f"{HOME}/.local/state/runbook"


def as_user(host: TestHost, script: str) -> str:
    """The output of a piece of shell, run by the user beside their manager."""
    uid = host.run(["id", "-u", USER]).strip()
    return host.sh(
        f"setpriv --reuid={USER} --regid={USER} --init-groups env HOME={HOME} XDG_RUNTIME_DIR=/run/user/{uid} sh -euc '{script}'"
    )


@pytest.fixture
def operator(operators: Operator, host: TestHost) -> Iterator[Operator]:
    assert SERVER.script
    host.sh("systemctl stop sglang-dsv4-* 2>/dev/null || true")
    host.put("/opt/standin/server.py", Path(laying.__file__).with_name("server.py").read_bytes())
    host.put(SERVER.script, SERVER.text(**{FLAG: "1"}), 0o755)
    host.put(f"{HOME}/.config/systemd/user/{SERVER.unit}", UNIT.encode())
    host.sh(f"chown -R {USER}: {HOME}; rm -rf {STATE}; loginctl enable-linger {USER}")
    wait_for_manager(host)
    as_user(host, f"systemctl --user daemon-reload; systemctl --user restart {SERVER.unit}; "
                  f"until ss -ltn | grep -q :{SERVER.port}; do sleep 0.05; done")  # fmt: skip
    document = {
        "service": "alone",
        "ssh": {**laying.ssh_of(host), "user": USER},
        "scope": "user",
        "state_dir": STATE,
        "model": MODEL,
        "units": {"server": {"unit": SERVER.unit, "script": SERVER.script,
                             "health": f"http://127.0.0.1:{SERVER.port}/health", "url": f"http://127.0.0.1:{SERVER.port}"}},
        "flags": {FLAG: {"absent": True, "why": "step times are not needed any more"}},
        "wait": {"health": {"attempts": 200, "every_s": 0.05, "timeout_s": 3},
                 "ready": {"attempts": 40, "every_s": 0.05, "timeout_s": 5, "max_tokens": 8}, "hold_s": 0.2},
    }  # fmt: skip
    operators.describe("gpu1", yaml.safe_dump(document, sort_keys=False))
    yield operators
    host.sh(f"loginctl disable-linger {USER}; loginctl terminate-user {USER} || true")


def wait_for_manager(host: TestHost) -> None:
    uid = host.run(["id", "-u", USER]).strip()
    until = time.monotonic() + 20.0
    while host.sh(f"test -S /run/user/{uid}/systemd/private && echo up || true").strip() != "up":
        assert time.monotonic() < until, "the user's manager did not come up"
        time.sleep(0.05)


def running(host: TestHost) -> bytes:
    pid = as_user(host, f"systemctl --user show --property=MainPID --value {SERVER.unit}").strip()
    return host.read(f"/proc/{pid}/environ")


def test_a_users_own_units_are_deployed_verified_and_rolled_back_without_root(
    operator: Operator, host: TestHost
) -> None:
    assert SERVER.script
    assert FLAG.encode() in running(host)
    deployed = operator.run("deploy", "gpu1", skip_validation=True)
    assert deployed.code == 0, (deployed.document["error"], deployed.document["findings"])
    assert host.read(SERVER.script) == SERVER.text()
    assert FLAG.encode() not in running(host)
    assert operator.run("verify", "gpu1", skip_validation=True).code == 0
    assert operator.run("rollback", "gpu1").code == 0
    assert FLAG.encode() in running(host)
    assert host.sh(f"stat -c '%U %a' {STATE}/alone").split() == [USER, "700"]


def test_a_users_own_units_are_adopted_into_a_file_that_plans_nothing(
    operator: Operator, capsys: pytest.CaptureFixture[str]
) -> None:
    target = inventory.load("gpu1", hosts_dir=operator.directory / "hosts").ssh
    request = Request(
        "hosts.adopt", ("adopted",), json=True, directory=operator.directory, units=(SERVER.unit,)
    )
    assert adopting.run(request, target=target) == 0, capsys.readouterr()
    found = inventory.load("adopted", hosts_dir=request.hosts_dir)
    assert (found.scope, found.state_dir) == ("user", STATE)
    assert [(unit.name, unit.script) for unit in found.units] == [(SERVER.unit, SERVER.script)]
    assert {flag.name: flag.value for flag in found.flags}[FLAG] == "1"
    planned = operator.run("plan", "adopted")
    assert (planned.code, planned.document["plan"]["changes"]) == (0, [])


def test_a_users_unit_that_fails_shows_its_own_journal(operator: Operator, host: TestHost) -> None:
    broken = '[Service]\nExecStart=/bin/sh -c "echo this users start speaks; exit 3"\n'
    host.put(f"{HOME}/.config/systemd/user/{SERVER.unit}", broken.encode())
    as_user(host, "systemctl --user daemon-reload")
    failed = operator.run("deploy", "gpu1", skip_validation=True)
    (found,) = (one for one in failed.document["findings"] if one["check"] == "unit")
    assert failed.code == 4, "the rollback cannot start it either"
    assert "exit status 3" in found["message"]
    assert "this users start speaks" in found["evidence"]["journal"]
