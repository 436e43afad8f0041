"""What a run makes on this machine is gone when the run is, however that ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.system.boot import owner, runs
from tests.system.boot.cgroups import hierarchies
from tests.system.boot.commands import run
from tests.system.boot.records import Place, Record, take_away

if TYPE_CHECKING:
    from tests.system.hosts import TestHost

pytestmark = pytest.mark.system

BOOTS_ONE = """
import sys, time
from pathlib import Path
from tests.system.hosts import fleet
with fleet(Path(sys.argv[1]), Path(sys.argv[2])) as ours:
    ours.boot(["doomed"])
    print("booted", flush=True)
    time.sleep(600)
"""


def test_a_run_that_is_killed_leaves_nothing_behind(tree: Path, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BOOTS_ONE, str(tmp_path), str(tree)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
    ) as doomed:
        assert doomed.stdout
        assert doomed.stdout.readline() == b"booted\n"
        (directory,) = (tmp_path / "runs").iterdir()
        place = Place(directory, int(directory.name))
        (record,) = place.records()
        assert traces(record, place)
        os.kill(doomed.pid, signal.SIGKILL)
    assert gone_within(record, place, 20.0) == []


def test_the_next_run_takes_away_what_a_dead_one_left(tree: Path, tmp_path: Path) -> None:
    dead = runs.claim(tmp_path)
    record = dead.record(0, "left")
    dead.write(record)
    run(["ip", "netns", "add", record.netns])
    owner.save(owner.Owner(os.getpid(), 1, "another boot"), dead.owner)
    assert traces(record, dead)
    ours = runs.claim(tmp_path)
    try:
        assert ours.slot == dead.slot
        assert owner.load(ours.owner) == owner.me()
        assert not Path(f"/run/netns/{record.netns}").exists()
    finally:
        take_away(ours)


def test_two_runs_at_once_share_neither_devices_nor_addresses(
    hosts: tuple[TestHost, ...], tmp_path: Path
) -> None:
    ours = runs.claim(tmp_path)
    try:
        assert ours.record(0, "gpu1").address not in {host.address for host in hosts}
        assert Path(f"/sys/class/net/{ours.bridge}").exists()
    finally:
        take_away(ours)


def test_a_pid_that_came_round_again_is_not_the_owner() -> None:
    me = owner.me()
    assert me.alive
    assert not owner.Owner(me.pid, me.start_ticks - 1, me.boot_id).alive
    assert not owner.Owner(me.pid, me.start_ticks, "another boot").alive


def traces(record: Record, place: Place) -> list[str]:
    """What there is of a machine and its run."""
    paths = [
        Path(f"/run/netns/{record.netns}"),
        Path(f"/sys/class/net/{place.bridge}"),
        *(root / record.cgroup for root in hierarchies()),
        place.directory,
    ]
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if record.directory in line]
    return [*(str(path) for path in paths if path.exists()), *mounts]


def gone_within(record: Record, place: Place, seconds: float) -> list[str]:
    """What is still there of a machine and its run after at most so long."""
    until = time.monotonic() + seconds
    while (left := traces(record, place)) and time.monotonic() < until:
        time.sleep(0.05)
    return left
