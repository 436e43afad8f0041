from __future__ import annotations

from typing import Any

import pytest

from runbook.verdict import came_to_nothing, ended_as

OBSERVED = {"name": "observe", "outcome": "pass"}
LOCKED = {"name": "lock", "outcome": "pass"}
WRITTEN = {"name": "write", "outcome": "pass"}


def ended(
    exit_code: Any, *steps: Any, outcome: str = "error", action: str = "deploy", **more: Any
) -> dict[str, Any]:
    return {"action": action, "outcome": outcome, "exit_code": exit_code, "steps": list(steps), **more}  # fmt: skip


@pytest.mark.parametrize(
    ("told", "word"),
    [
        (ended(0, WRITTEN, outcome="pass"), "pass"),
        (ended(130, OBSERVED), "declined"),
        (ended(130, OBSERVED, action="verify"), "stopped"),
        (ended(130, OBSERVED, LOCKED), "stopped"),
        (ended(130, LOCKED, WRITTEN, {"name": "restart decode", "outcome": "error"}), "stopped"),
        (ended(130, LOCKED, {"name": "write", "outcome": "error"}), "stopped"),
        (ended(130, LOCKED, WRITTEN, outcome="fail"), "fail"),
        (ended(6, OBSERVED, {"name": "lock", "outcome": "error"}), "refused"),
        (ended(2, OBSERVED, LOCKED, {"name": "preflight", "outcome": "error"}), "refused"),
        (ended(2, OBSERVED, LOCKED, {"name": "write", "outcome": "error"}), "refused"),
        (ended(2, OBSERVED, LOCKED, {"name": "restart router", "outcome": "pass"}), "error"),
        (ended(2, OBSERVED, restarts=[{"unit": "router"}]), "error"),
        (ended(4, LOCKED, WRITTEN), "error"),
        (ended(7, OBSERVED), "error"),
    ],
)
def test_an_outcome_in_a_word_tells_what_was_declined_or_refused_from_what_was_cut_off(
    told: dict[str, Any], word: str
) -> None:
    assert ended_as(told) == word
    assert came_to_nothing(told) or word not in ("declined", "refused")


@pytest.mark.parametrize(
    ("told", "nothing"),
    [
        (ended(130, OBSERVED, LOCKED), True),
        (ended(130, {"name": "validate final80", "outcome": "error"}, action="verify"), False),
        (ended(2, {"name": "bench before", "outcome": "pass"}), False),
        (ended(7, OBSERVED), False),
        (ended(0, OBSERVED, outcome="pass"), False),
    ],
)
def test_a_rollout_came_to_nothing_where_it_neither_changed_nor_measured_anything(
    told: dict[str, Any], nothing: bool
) -> None:
    assert came_to_nothing(told) is nothing


@pytest.mark.parametrize("steps", [None, "write", [None, 3, {}], [{"name": ["write"]}]])
def test_a_record_of_anybodys_has_a_word_too(steps: Any) -> None:
    assert ended_as({"outcome": "error", "exit_code": 130, "steps": steps}) == "stopped"
