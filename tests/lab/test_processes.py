from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from runbook.lab.processes import Identity, Row, alive, end, family, identify, parse_ps, table

if TYPE_CHECKING:
    from collections.abc import Iterator

BOOT = "boot"


def rows(*entries: tuple[int, int, int, int]) -> dict[int, Row]:
    """(pid, parent, session, ticks) → a process table of one boot."""
    return {pid: Row(pid, parent, session, f"{BOOT}:{ticks}") for pid, parent, session, ticks in entries}


def who(pid: int, ticks: int, boot: str = BOOT) -> Identity:
    return Identity(pid, f"{boot}:{ticks}")


@pytest.mark.parametrize(
    ("roots", "want"),
    [
        ([who(10, 5)], [10, 11, 12, 13]),
        ([who(11, 6)], [11, 12]),
        ([who(12, 7)], [12]),
        ([who(10, 4)], []),
        ([who(20, 5)], [21, 22]),
        ([who(20, 9)], []),
        ([who(20, 5, "earlier boot")], []),
        ([], []),
    ],
    ids=[
        "all below a root that lives",
        "below a child",
        "a leaf",
        "a pid that was used again is nobody",
        "what a dead root left in its session, and below",
        "a session older than the root is not its own",
        "a root of another boot has no one",
        "no roots",
    ],
)
def test_a_family_is_found(roots: list[Identity], want: list[int]) -> None:
    there = rows(
        (1, 0, 1, 0),
        (10, 1, 10, 5),
        (11, 10, 10, 6),
        (12, 11, 12, 7),
        (13, 1, 10, 8),
        (21, 1, 20, 6),
        (22, 21, 22, 7),
    )
    assert [process.pid for process in family(roots, there)] == want


def test_what_ps_tells_is_a_process_table() -> None:
    shown = (
        "    1     0     1 Ss   Mon Nov 30 03:14:54 2026\n"
        "  714     1   714 S+   Mon Nov 30 03:15:01 2026    \n"
        "  715   714   714 Z    Mon Nov 30 03:15:02 2026\n"
        "\nnonsense\n"
    )
    assert parse_ps(shown) == {
        1: Row(1, 0, 1, "Mon Nov 30 03:14:54 2026"),
        714: Row(714, 1, 714, "Mon Nov 30 03:15:01 2026"),
    }


@pytest.mark.real
def test_ps_and_proc_agree_on_who_is_whose_child(sleeper: subprocess.Popen[bytes]) -> None:
    command = ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,lstart="]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert parse_ps(shown)[sleeper.pid].parent == table()[sleeper.pid].parent == os.getpid()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


@pytest.mark.real
def test_a_process_is_known_by_pid_and_start(sleeper: subprocess.Popen[bytes]) -> None:
    me = identify(sleeper.pid)
    assert me
    assert alive(me)
    assert not alive(Identity(sleeper.pid, "another start"))
    assert table()[sleeper.pid].parent == os.getpid()


@pytest.mark.real
def test_a_zombie_counts_as_dead(sleeper: subprocess.Popen[bytes]) -> None:
    me = identify(sleeper.pid)
    assert me
    sleeper.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 5
    while alive(me):
        assert time.monotonic() < deadline
    assert identify(sleeper.pid) is None


@pytest.mark.real
def test_end_kills_what_does_not_listen_and_spares_another_with_the_same_pid() -> None:
    with subprocess.Popen(
        ["sh", "-c", "trap '' TERM; echo; while :; do sleep 0.05; done"], stdout=-1
    ) as deaf:
        assert deaf.stdout
        deaf.stdout.readline()
        me = identify(deaf.pid)
        assert me
        assert end([Identity(deaf.pid, "another start")], grace_s=0) == ()
        assert alive(me)
        assert end([me], grace_s=0.1) == ()
        assert not alive(me)
