"""What a rollout was about to do, and what of it was done, is on the disk at every moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook.onhost import inflight

if TYPE_CHECKING:
    from runbook.ssh import InProcessWire

OURS = {"rollout": "r1", "who": "ann@laptop", "action": "deploy", "parent": "a", "step": None}


def book(state: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(state, "inflight.json").read_text())
    return found


def marks(state: str) -> list[tuple[str, bool]]:
    return [(step["name"], step["ended"] is not None) for step in book(state)["steps"]]


def mark(wire: InProcessWire, state: str, step: str, *, done: bool, rollout: str = "r1") -> None:
    assert wire.call("inflight_step", state=state, rollout=rollout, step=step, done=done) == {}


def test_each_step_is_marked_before_and_after_its_deed(writing: InProcessWire, state: str) -> None:
    writing.call("inflight", state=state, doc=OURS)
    mark(writing, state, "write", done=False)
    assert (book(state)["step"], marks(state)) == ("write", [("write", False)])
    mark(writing, state, "write", done=True)
    mark(writing, state, "restart decode", done=False)
    assert marks(state) == [("write", True), ("restart decode", False)]


def test_a_rollout_that_turns_back_goes_on_in_the_same_book(writing: InProcessWire, state: str) -> None:
    writing.call("inflight", state=state, doc=OURS)
    mark(writing, state, "write", done=False)
    writing.call("inflight", state=state, doc={**OURS, "action": "rollback"})
    mark(writing, state, "write back", done=False)
    assert (book(state)["action"], marks(state)) == ("rollback", [("write", False), ("write back", False)])


def test_another_rollout_begins_its_own_book(writing: InProcessWire, state: str) -> None:
    writing.call("inflight", state=state, doc=OURS)
    mark(writing, state, "write", done=False)
    writing.call("inflight", state=state, doc={**OURS, "rollout": "r2"})
    mark(writing, state, "write", done=True)  # r1's
    assert marks(state) == []


def test_a_step_repeated_is_done_where_it_was_begun_last() -> None:
    steps = inflight.begun(inflight.begun([], "restart", "1"), "restart", "2")
    assert [step["ended"] for step in inflight.ended(steps, "restart", "3")] == [None, "3"]
    assert inflight.ended([], "restart", "3") == []


def test_nothing_under_way_takes_no_mark(writing: InProcessWire, state: str) -> None:
    mark(writing, state, "restart decode", done=False)
    assert not Path(state, "inflight.json").exists()


@pytest.mark.parametrize(
    "damaged", ["", "[]", "{", '{"rollout": "r1", "steps": "x"}', '{"rollout": "r1", "steps": [3]}']
)
def test_a_damaged_book_is_no_obstacle(writing: InProcessWire, state: str, damaged: str) -> None:
    writing.call("inflight", state=state, doc=OURS)
    Path(state, "inflight.json").write_text(damaged)
    mark(writing, state, "write", done=False)
    writing.call("inflight", state=state, doc=OURS)
    assert marks(state) == [("write", False)] * ("r1" in damaged)
