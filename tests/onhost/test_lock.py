"""One holder at a time, named; whoever dies frees it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runbook.errors import LockedError, PreflightError
from runbook.onhost import lock
from runbook.onhost.calls import Refusal
from runbook.ssh import InProcessWire

pytestmark = pytest.mark.real  # a taker waits a moment for a reader to let go

HOLDER = {
    "who": "anna",
    "host": "laptop",
    "since": "2026-01-05T10:00:00+00:00",
    "step": "plan",
    "rollout": "r1",
}


def test_a_second_taker_is_told_who_holds_it(writing: InProcessWire, state: str) -> None:
    writing.call("lock", state=state, holder=HOLDER)
    with InProcessWire("writing") as other, pytest.raises(LockedError) as caught:
        other.call("lock", state=state, holder={"who": "ben"})
    assert caught.value.data == HOLDER
    assert str(caught.value) == "locked by anna since 2026-01-05T10:00:00+00:00, now at: plan"


def test_the_holder_may_say_how_far_it_is(writing: InProcessWire, state: str) -> None:
    writing.call("lock", state=state, holder=HOLDER)
    writing.call("lock_step", step="restart decode")
    assert lock.holder(state) == {**HOLDER, "step": "restart decode"}


def test_a_shorter_holder_leaves_nothing_of_a_longer_one(writing: InProcessWire, state: str) -> None:
    with InProcessWire("writing") as earlier:
        earlier.call("lock", state=state, holder=HOLDER)
    writing.call("lock", state=state, holder={"who": "b"})
    assert lock.holder(state) == {"who": "b"}


def test_a_directory_without_a_lock_has_no_holder(state: str) -> None:
    assert lock.holder(str(Path(state).parent)) is None


def test_closing_the_wire_frees_it(state: str) -> None:
    with InProcessWire("writing") as wire:
        wire.call("lock", state=state, holder=HOLDER)
    assert lock.holder(state) is None


def test_the_text_of_a_dead_holder_is_no_lock(state: str, writing: InProcessWire) -> None:
    take = f"from runbook.onhost.lock import Lock; Lock({state!r}).take({state!r}, {{'who': 'dead'}})"
    subprocess.run(
        [sys.executable, "-c", take], check=True, env={**os.environ, "PYTHONPATH": str(Path.cwd())}
    )
    assert '"dead"' in Path(state, "lock").read_text()
    assert lock.holder(state) is None
    writing.call("lock", state=state, holder=HOLDER)


def test_what_we_start_does_not_hold_it(state: str) -> None:
    with InProcessWire("writing") as wire, subprocess.Popen(["sleep", "20"]) as child:
        wire.call("lock", state=state, holder=HOLDER)
        with subprocess.Popen(["sleep", "20"], close_fds=False) as late:
            wire.close()
            assert lock.holder(state) is None
            late.kill()
        child.kill()


def test_a_step_without_a_lock_is_refused(writing: InProcessWire) -> None:
    with pytest.raises(PreflightError, match="no lock is held"):
        writing.call("lock_step", step="x")


def test_a_lock_file_that_was_replaced_is_not_taken(state: str) -> None:
    opened = lock.Lock(state)
    Path(state, "lock").unlink()
    Path(state, "lock").touch()
    with pytest.raises(Refusal, match="was opened"):
        opened.take(state, HOLDER)
    opened.close()


@pytest.mark.parametrize("text", ["", "{", "[1]", "\x00\x01"])
def test_a_holder_that_makes_no_sense_still_holds(state: str, text: str) -> None:
    opened = lock.Lock(state)
    opened.take(state, HOLDER)
    Path(state, "lock").write_text(text)
    assert lock.holder(state) == {}
    opened.close()
