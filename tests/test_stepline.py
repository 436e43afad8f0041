from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook import stepline
from runbook.stepline import Doing
from runbook.text import columns


@pytest.mark.parametrize(
    ("elapsed_s", "budget_s", "want"),
    [
        (12.9, 260.0, "validate final80  12 s of 260 s"),
        (65.0, None, "validate final80  65 s"),
        (0.0, 1800.0, "validate final80  0 s of 30 min 0 s"),
        (3661.0, 7200.0, "validate final80  1 h 1 min of 2 h 0 min"),
    ],
)
def test_the_first_line_has_the_time_and_the_budget(
    elapsed_s: float, budget_s: float | None, want: str
) -> None:
    assert stepline.first(Doing("validate final80", budget_s), elapsed_s, 80) == want


def test_the_name_gives_way_to_the_time() -> None:
    assert stepline.first(Doing("a very long name of a step", 60.0), 5, 20) == "a very…  5 s of 60 s"


@pytest.mark.parametrize(
    ("fields", "share"),
    [
        ({"ended": 20, "sessions": 80}, 0.25),
        ({"elapsed_s": 7.0, "whole_s": 14.0}, 0.5),
        ({"elapsed_s": 20.0, "whole_s": 14.0}, 1.0),
        ({"ended": 0, "sessions": 0}, None),
        ({"ended": "x", "sessions": 80}, None),
        ({}, None),
    ],
)
def test_a_bar_is_drawn_where_it_is_known_how_much_there_is(
    fields: dict[str, object], share: float | None
) -> None:
    assert stepline.share_of(fields) == share


@given(st.text(), st.floats(0, 1e6), st.integers(10, 200), st.integers(0, 99))
def test_no_text_is_wider_than_its_terminal(text: str, elapsed_s: float, width: int, ended: int) -> None:
    doing = Doing(text, None, text, {"ended": ended, "sessions": 80})
    lines = stepline.below(doing, width)
    assert len(lines) <= 2
    assert all(columns(line) <= width for line in lines)
