"""Logins as they are: noise, jump hosts, aliases, no Python, and what becomes of our processes when a link dies."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.system.service import laying

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.system.hosts import TestHost
    from tests.system.operators import Operator

pytestmark = pytest.mark.system

NOISE = "echo 'Welcome to gpu1!'; printf '\\000\\377\\n\\t'; echo 'update available' >&2\n"


@pytest.fixture
def noisy(host: TestHost) -> Iterator[None]:
    """Every login says more than it was asked, before and after a password would be."""
    kept = host.read("/root/.bashrc")
    host.put("/root/.bashrc", NOISE.encode() + kept)
    host.put("/etc/ssh/banner", b"Authorised use only.\n")
    host.put("/etc/ssh/sshd_config.d/noise.conf", b"Banner /etc/ssh/banner\n")
    host.run(["systemctl", "reload", "ssh"])
    yield
    host.put("/root/.bashrc", kept)
    host.run(["rm", "/etc/ssh/sshd_config.d/noise.conf"])
    host.run(["systemctl", "reload", "ssh"])


@pytest.mark.usefixtures("noisy")
def test_what_a_login_says_changes_nothing(operator: Operator, host: TestHost) -> None:
    deployed = operator.run("deploy", "gpu1", skip_validation=True)
    assert deployed.code == 0
    assert host.read(laying.script("decode")) == laying.after("decode")


@pytest.fixture
def without_python(host: TestHost) -> Iterator[None]:
    host.sh("mv /usr/bin/python3 /usr/bin/python3.hidden")
    yield
    host.sh("mv /usr/bin/python3.hidden /usr/bin/python3")


def test_a_missing_python_is_said_before_anything_is_touched(
    operator: Operator, host: TestHost, without_python: None
) -> None:
    refused = operator.run("deploy", "gpu1", skip_validation=True)
    assert refused.code == 2
    assert "no Python at `python3`" in refused.document["error"]
    assert host.sh(f"ls {laying.STATE} 2>/dev/null || true") == ""


def test_an_old_python_is_said_before_anything_is_touched(operator: Operator, host: TestHost) -> None:
    # Its version as it tells it; everything else of it is the host's own.
    host.put(
        "/opt/old/python3",
        b"#!/bin/sh\nexec python3 -I -S -c 'import sys; sys.version_info = (3, 8, 0); exec(sys.argv[1])' \"$4\"\n",
        0o755,
    )
    operator.describe("gpu1", laying.host_file(host, python="/opt/old/python3"))
    refused = operator.run("deploy", "gpu1", skip_validation=True)
    assert refused.code == 2
    assert "3.8" in refused.document["error"]
    assert "3.9" in refused.document["error"]


def test_another_user_becomes_root_through_sudo_for_the_whole_deploy(
    operator: Operator, host: TestHost
) -> None:
    document = laying.ssh_of(host) | {"user": "free"}
    operator.describe("gpu1", laying.host_file(host, ssh=document, become=True))
    assert operator.run("deploy", "gpu1", skip_validation=True).code == 0
    assert host.read(laying.script("decode")) == laying.after("decode")
    assert host.run(["stat", "-c", "%U %a", laying.script("decode")]).split() == ["root", "755"]


def test_an_alias_behind_a_jump_host_is_reached_as_ssh_would_reach_it(
    operator: Operator, hosts: tuple[TestHost, ...], tmp_path: Path
) -> None:
    outer, inner = hosts
    laying.lay(inner)
    config = tmp_path / "config"
    config.write_text(
        f"Host outer\n  HostName {outer.address}\nHost inner\n  HostName {inner.address}\n  ProxyJump outer\n"
        f"Host *\n  User root\n  IdentityFile {inner.key}\n  IdentitiesOnly yes\n  UserKnownHostsFile {inner.known_hosts}\n"
    )
    operator.describe("gpu2", laying.host_file(inner, ssh={"address": "inner", "config": str(config)}))
    assert operator.run("plan", "gpu2").code == 0
    accepted = inner.run(["journalctl", "--unit=ssh", "--output=cat", "--lines=20"])
    assert f"Accepted publickey for root from {outer.address}" in accepted


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_a_load_that_ran_on_the_host_does_not_outlive_its_controller(
    operator: Operator, host: TestHost, number: int
) -> None:
    # What a load generator may do at its worst: leave its session and ignore every request to end.
    lasting = "setsid sh -c 'trap \"\" INT TERM HUP; while :; do sleep 0.987; done' & wait"
    host.put("/root/load.sh", lasting.encode(), 0o755)
    operator.describe(
        "gpu1",
        laying.host_file(host, validations=[{"name": "own", "run": "sh /root/load.sh", "timeout_s": 600}]),
    )
    command = operator.start("deploy", "gpu1")
    assert within(30.0, lambda: "0.987" in processes(host)), command.end(1.0).stderr
    command.signal(number)
    ended = command.end()
    assert ended.code == (-number if number == signal.SIGKILL else 130)
    assert within(60.0, lambda: "0.987" not in processes(host))
    assert host.sh(f"flock --nonblock {laying.STATE}/lock echo free").strip() == "free"


def processes(host: TestHost) -> str:
    return host.run(["ps", "-eo", "args"])


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Does it come to hold within so long?"""
    until = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < until:
        time.sleep(0.1)
    return held
