"""The test hosts themselves: what the other system tests stand on."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.system.boot.commands import ProgramFailed

if TYPE_CHECKING:
    from tests.system.hosts import TestHost

pytestmark = pytest.mark.system


def test_each_host_is_a_machine_of_its_own(hosts: tuple[TestHost, ...]) -> None:
    names = [host.run(["hostname"]).strip() for host in hosts]
    boots = {host.run(["cat", "/proc/sys/kernel/random/boot_id"]) for host in hosts}
    assert names == ["gpu1", "gpu2"]
    assert len(boots) == 2
    assert [host.run(["cat", "/proc/1/comm"]).strip() for host in hosts] == ["systemd", "systemd"]


def test_stopping_a_unit_on_one_host_leaves_its_namesake_on_the_other(hosts: tuple[TestHost, ...]) -> None:
    for host in hosts:
        host.run(["systemd-run", "--quiet", "--unit=namesake", "sleep", "600"])
    hosts[0].run(["systemctl", "stop", "namesake"])
    assert hosts[1].run(["systemctl", "is-active", "namesake"]).strip() == "active"
    hosts[1].run(["systemctl", "stop", "namesake"])


@pytest.mark.parametrize("user", ["root", "free", "dashing", "seashell", "zed", "angler"])
def test_a_user_logs_in_through_sshd(host: TestHost, user: str) -> None:
    done = subprocess.run(host.ssh("id", "-un", user=user), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == user


def test_what_is_put_reads_back(host: TestHost) -> None:
    content = bytes(range(256))
    host.put("/root/some/where", content, 0o640)
    assert host.read("/root/some/where") == content
    assert host.run(["stat", "-c", "%a", "/root/some/where"]).strip() == "640"


def test_a_pulled_plug_keeps_the_disk_and_starts_a_new_boot(host: TestHost) -> None:
    host.put("/root/kept", b"still here")
    before = host.run(["cat", "/proc/sys/kernel/random/boot_id"])
    host.reboot()
    assert host.read("/root/kept") == b"still here"
    assert host.run(["cat", "/proc/sys/kernel/random/boot_id"]) != before


def test_a_cut_cable_stops_every_packet_until_it_is_healed(host: TestHost) -> None:
    host.cut()
    try:
        assert subprocess.run(host.ssh("-oConnectTimeout=1", "true"), capture_output=True).returncode == 255
        assert host.run(["hostname"]).strip() == "gpu1"
    finally:
        host.heal()
    assert subprocess.run(host.ssh("true"), capture_output=True).returncode == 0


def test_a_full_disk_takes_no_byte_until_there_is_room_again(host: TestHost) -> None:
    with host.full_disk(), pytest.raises(ProgramFailed, match="No space left"):
        host.put("/root/big", bytes(100_000))
    host.put("/root/big", bytes(100_000))


def test_a_read_only_directory_takes_no_byte_until_it_is_writable_again(host: TestHost) -> None:
    with host.read_only("/root"), pytest.raises(ProgramFailed, match="Read-only"):
        host.put("/root/text", b"x")
    host.put("/root/text", b"x")
