"""Deploy-like connections one after the other, over a real sshd and over the lab's: both ends let go of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runbook import lab as embedded
from runbook import ssh
from runbook.bundle import helper_payload
from runbook.lab.launch import start_daemon
from runbook.lab.state import Paths
from runbook.model import SshTarget
from runbook.tunnel import Tunnel, TunnelError
from tests import sshd
from tests.endurance import footprint
from tests.lab.fixtures import small_lab

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runbook.lab.state import LabState

__all__ = ["small_lab"]

pytestmark = pytest.mark.real

MANY = [3, pytest.param(50, marks=pytest.mark.heavy)]
A_CONNECTION_BLOCKS = 60
NOBODY = "http://127.0.0.1:9/health"  # discard: nobody listens


@pytest.fixture
def server(tmp_path: Path) -> Iterator[sshd.Sshd]:
    if sshd.binary() is None:
        pytest.skip("needs OpenSSH's sshd")
    with sshd.serving(tmp_path / "sshd") as running:
        yield running


@pytest.fixture
def daemon(small_lab: LabState) -> Iterator[LabState]:
    start_daemon(small_lab)
    yield small_lab
    embedded.down(small_lab.root)


def target_of(lab: LabState) -> SshTarget:
    """As hosts/lab.yml names it."""
    keys = Paths(lab.root).keys
    return SshTarget(
        address="127.0.0.1",
        user=lab.user,
        port=lab.ssh_port,
        key=str(keys / "client_ed25519"),
        known_hosts=str(keys / "known_hosts"),
        config="/dev/null",
    )


def rollout(target: SshTarget, state: Path) -> None:
    """What a deploy does over the wire, but for the units: lock, look, write, run load, ask through the tunnel, record."""
    with (
        ssh.connect(target) as link,
        link.open_wire("writing", payload=helper_payload, state=str(state)) as wire,
    ):
        wire.call("lock", state=str(state), holder={"who": "ann"})
        wire.call("observe", state=str(state), files=[], units=[], names=[], patterns=[])
        wire.call("inflight", state=str(state), doc={"rollout": "r", "parent": None})
        job = wire.call("job_start", argv=["sh", "-c", "echo 1; sleep 60 & exec sleep 60"])["job"]
        assert wire.call("job_poll", job=job, wait_s=10.0)["lines"] == ["1"]
        with Tunnel(link) as tunnel, pytest.raises(TunnelError):
            tunnel.get(NOBODY, deadline_s=5.0)
        wire.call("inflight", state=str(state), doc=None)


def blocks_after_each(target: SshTarget, state: Path, rollouts: int) -> Iterator[int]:
    before = footprint.of()
    for _ in range(rollouts):
        rollout(target, state)
        assert (
            footprint.left_over(before) == ""
        )  # the threads of a connection take a moment to end, and hold it until then
        yield footprint.blocks()


@pytest.mark.parametrize("rollouts", MANY)
def test_neither_the_controller_nor_sshd_keeps_anything_of_a_connection(
    server: sshd.Sshd, tmp_path: Path, rollouts: int
) -> None:
    rollout(server.target(), tmp_path / "state")
    ours, theirs = footprint.of(), footprint.of(server.process.pid)
    blocks = list(blocks_after_each(server.target(), tmp_path / "state", rollouts))
    assert footprint.left_over(ours) == ""
    assert footprint.left_over(theirs, server.process.pid) == ""
    assert footprint.slope(blocks) < A_CONNECTION_BLOCKS, blocks
    assert [path.name for path in footprint.files_below(tmp_path / "state")] == ["lock"]


@pytest.mark.parametrize("rollouts", MANY)
def test_the_labs_daemon_keeps_no_descriptor_thread_or_zombie_of_a_connection(
    daemon: LabState, tmp_path: Path, rollouts: int
) -> None:
    lab = embedded.status(daemon.root)
    assert lab is not None
    for _ in range(2):
        rollout(target_of(lab), tmp_path / "state")
    before = footprint.of(lab.pid)
    for _ in range(rollouts):
        rollout(target_of(lab), tmp_path / "state")
    assert footprint.left_over(before, lab.pid) == ""
