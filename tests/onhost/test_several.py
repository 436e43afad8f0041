"""Calls in a row: in their order, each under its own mode, none after one that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runbook.onhost import dispatch
from runbook.onhost.calls import Refusal
from runbook.onhost.session import Session

if TYPE_CHECKING:
    from pathlib import Path


def several(mode: str, *calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    row = [{"call": name, "args": args} for name, args in calls]
    found: list[dict[str, Any]] = dispatch.dispatch("several", {"calls": row}, Session(mode))
    return found


def book(path: Path, rollout: str) -> tuple[str, dict[str, Any]]:
    return "inflight", {"state": str(path), "doc": {"rollout": rollout}}


def test_calls_are_made_in_their_order_and_answered_each(tmp_path: Path) -> None:
    state = tmp_path / "s"
    opened, marked, cleared = several(
        "writing",
        book(state, "one"),
        ("inflight_step", {"state": str(state), "rollout": "one", "step": "write", "done": False}),
        ("inflight", {"state": str(state), "doc": None}),
    )
    assert [one["ok"] for one in (opened, marked, cleared)] == [{}, {}, {}]
    assert all(one["took_s"] >= 0 for one in (opened, marked, cleared))
    assert not (state / "inflight.json").exists()


@pytest.mark.parametrize(
    ("mode", "failing", "kind"),
    [
        ("writing", ("no such call", {}), "invalid"),
        ("reading", ("daemon_reload", {}), "refused"),
        ("writing", ("release_update", {"id": "none", "fields": {}}), "missing"),
    ],
)
def test_nothing_is_done_after_a_call_that_fails(
    tmp_path: Path, mode: str, failing: tuple[str, dict[str, Any]], kind: str
) -> None:
    name, args = failing
    args = {"state": str(tmp_path / "s"), **args} if name == "release_update" else args
    answers = several(mode, ("ping", {}), (name, args), book(tmp_path / "s", "late"))
    assert [sorted(answer.keys() & {"ok", "error"}) for answer in answers] == [["ok"], ["error"]]
    assert answers[-1]["error"]["kind"] == kind
    assert not (tmp_path / "s" / "inflight.json").exists()


def test_a_row_gives_no_mode_to_what_is_in_it(tmp_path: Path) -> None:
    (answer,) = several("running", book(tmp_path / "s", "one"))
    assert answer["error"]["kind"] == "refused"
    assert not (tmp_path / "s").exists()


def test_a_row_holds_no_row() -> None:
    with pytest.raises(Refusal, match="no other row"):
        several("reading", ("gpus", {}), ("several", {"calls": []}))
