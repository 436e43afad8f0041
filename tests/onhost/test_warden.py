"""However the helper ends, what it started ends too, and only then is the lock free."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runbook.onhost import lock
from tests.onhost.helper import alive, eventually, started

if TYPE_CHECKING:
    from tests.onhost.helper import Helper

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="a subreaper is a thing of Linux"),
]

# A grandchild that left our session and our group, ignores everything, and whose parents are gone.
ORPHAN = """
trap '' TERM HUP INT
setsid sh -c 'trap "" TERM HUP INT; setsid sh -c "trap \\"\\" TERM HUP INT; echo \\$\\$; while :; do sleep 1; done" & exit 0' &
sleep 600
"""


def orphan(helper: Helper) -> int:
    job = helper.call("job_start", argv=["sh", "-c", ORPHAN])["job"]
    return int(helper.call("job_poll", job=job, wait_s=20.0)["lines"][0])


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def gone(helper: Helper, pid: int, state: Path) -> None:
    """The process ended, the helper and warden too, and the lock is free."""
    helper.process.wait(timeout=30)
    assert not alive(pid), "the lock was freed before everything was dead"
    assert not alive(helper.pid)
    assert lock.holder(str(state)) is None


def test_killing_the_helper_takes_orphans_along_and_frees_the_lock_after_them(state: Path) -> None:
    with started("writing", state) as helper:
        helper.call("lock", state=str(state), holder={"who": "me"})
        pid = orphan(helper)
        assert lock.holder(str(state)) == {"who": "me"}
        os.kill(helper.pid, signal.SIGKILL)
        gone(helper, pid, state)
        assert helper.process.returncode == 128 + signal.SIGKILL


def test_the_end_of_the_link_does_the_same(state: Path) -> None:
    with started("writing", state) as helper:
        helper.call("lock", state=str(state), holder={"who": "me"})
        pid = orphan(helper)
        assert helper.process.stdin is not None
        helper.process.stdin.close()
        gone(helper, pid, state)
        assert helper.process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_to_the_warden_does_the_same(state: Path, number: signal.Signals) -> None:
    with started("writing", state) as helper:
        helper.call("lock", state=str(state), holder={"who": "me"})
        pid = orphan(helper)
        helper.process.send_signal(number)
        gone(helper, pid, state)


def test_when_the_warden_is_killed_the_helper_ends_with_its_jobs(state: Path) -> None:
    with started("writing", state) as helper:
        helper.call("lock", state=str(state), holder={"who": "me"})
        job = helper.call("job_start", argv=["sleep", "600"])
        os.kill(helper.process.pid, signal.SIGKILL)
        assert eventually(lambda: not alive(helper.pid))
        assert eventually(lambda: not alive(job["pid"]))
        assert eventually(lambda: lock.holder(str(state)) is None)


def test_silence_ends_everything(state: Path) -> None:
    with started("writing", state, silence_s=1.0) as helper:
        pid = orphan(helper)
        gone(helper, pid, state)


def test_a_job_does_not_hold_the_lock_open(state: Path) -> None:
    with started("writing", state) as helper:
        job = helper.call("job_start", argv=["sleep", "600"])
        held = {str(path.readlink()) for path in Path(f"/proc/{job['pid']}/fd").iterdir()}
        assert str(state / "lock") not in held
        ours = {str(path.readlink()) for path in Path(f"/proc/{helper.pid}/fd").iterdir()}
        assert str(state / "lock") in ours


@pytest.mark.parametrize("mode", ["reading", "running"])
def test_below_writing_no_state_is_made(state: Path, mode: str) -> None:
    with started(mode, state) as helper:
        asked = {"state": str(state), "files": [], "units": [], "names": [], "patterns": []}
        assert helper.call("observe", **asked)["state"]["lock"] is None
        assert helper.call("lock", state=str(state), holder={})["kind"] == "refused"
    assert not state.exists()


def test_a_defect_leaves_its_trace_on_stderr_and_nothing_alive(
    state: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with started("writing", state) as helper:
        pid = orphan(helper)
        assert helper.call("journal", unit=5)["kind"] == "internal"
        gone(helper, pid, state)
        assert helper.process.returncode == 70
    assert "TypeError" in capfd.readouterr().err
