from __future__ import annotations

from typing import Any

import pytest

from runbook import unsaid
from runbook.report import tables

ROW = {
    "flag": "A", "unit": "decode", "wanted": "1", "file": "0", "running": "0", "evidence": "environ", "outcome": "fail",
}  # fmt: skip


def outcome(row: dict[str, Any], **fields: Any) -> str:
    (found,) = tables.flags({"action": "deploy", "flags": [row], **fields})
    return found.outcome


def test_a_flag_of_a_run_that_stands_is_judged_as_it_was_wanted() -> None:
    assert outcome(ROW) == "fail"


@pytest.mark.parametrize(
    ("fields", "judged"),
    [
        ({}, "pass"),
        ({"file": None, "running": None}, "pass"),
        ({"running": "1"}, "fail"),
        ({"running": None}, "fail"),
        ({"evidence": "unknown"}, "inconclusive"),
        ({"file": unsaid.DYNAMIC, "running": "0"}, "inconclusive"),
        ({"file": unsaid.ALONE, "running": unsaid.ALONE}, "pass"),
        ({"file": ["no", "text"], "running": ["no", "text"]}, "pass"),
    ],
)
def test_a_flag_of_a_run_that_went_back_is_judged_by_what_it_went_back_to(
    fields: dict[str, Any], judged: str
) -> None:
    assert outcome({**ROW, **fields}, rolled_back_to="r1") == judged
