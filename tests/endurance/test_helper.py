"""One helper asked for long: what it starts, it reaps, and its calls leave nothing open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.endurance import footprint
from tests.onhost.helper import Helper, started

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


def asked(helper: Helper, state: Path) -> None:
    """A look, a job to its end, one that is stopped, one that is not there, and a record."""
    helper.call("observe", state=str(state), files=[str(state)], units=[], names=[], patterns=[])
    job = helper.call("job_start", argv=["sh", "-c", "echo out; echo err >&2"], stdin="in\n")["job"]
    while helper.call("job_poll", job=job, wait_s=5.0)["exit"] is None:
        pass
    stopped = helper.call("job_start", argv=["sh", "-c", "sleep 60 & exec sleep 60"])["job"]
    assert helper.call("job_stop", job=stopped, grace_s=5.0)["exit"] == -15
    assert helper.call("job_start", argv=["no-such-program"])["kind"] == "missing"
    helper.call("audit_append", state=str(state), record={"id": "r"})


@pytest.mark.parametrize("times", [5, pytest.param(200, marks=pytest.mark.heavy)])
def test_a_helper_keeps_no_descriptor_thread_or_child_of_what_it_was_asked(
    tmp_path: Path, times: int
) -> None:
    state = tmp_path / "state"
    with started("running", state) as helper:
        for _ in range(2):
            asked(helper, state)
        before, warden = footprint.of(helper.pid), footprint.of(helper.process.pid)
        for _ in range(times):
            asked(helper, state)
        assert footprint.left_over(before, helper.pid) == ""
        assert footprint.left_over(warden, helper.process.pid) == ""
    assert [path.name for path in footprint.files_below(state)] == ["audit.jsonl"]
