from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.load.bench import compare, comparison_lines, result_lines
from runbook.load.bench.table import bar
from tests.load.bench.made import level, result

STEADY = (100.0, 101.0, 99.0, 100.0, 100.5)


def test_a_result_shows_every_level_with_its_figures() -> None:
    lines = result_lines(result(level(1, 50.0, 52.0, ttft_ms={"p50": 80.0, "p99": 95.5}), level(80, *STEADY)))
    assert lines[0].split() == [
        "conc",
        "tok/s",
        "±",
        "req/s",
        "TTFT",
        "p50",
        "p99",
        "ITL",
        "p50",
        "p99",
        "TPOT",
        "p50",
        "failed",
    ]
    assert lines[1].split()[:3] == ["1", "51.0", "2.8%"]
    assert "80.0  95.5" in lines[1]
    assert "█" * 20 in lines[2]


def test_problems_stand_below_the_table() -> None:
    lines = result_lines(result(level(8, 1.0, problems=("client-bound: 97% of its core",))))
    assert lines[-1] == "concurrency 8: client-bound: 97% of its core"


def test_a_comparison_shows_ratio_interval_and_verdict() -> None:
    slow = tuple(rate * 0.8 for rate in STEADY)
    found = compare(
        result(level(8, *STEADY)), result(level(8, *slow)), max_regression=0.1, accept="known cost"
    )
    lines = comparison_lines(found)
    assert lines[1].split()[:4] == ["8", "100.0", "80.0", "0.800"]
    assert lines[1].endswith("regression")
    assert lines[-2:] == ["accepted: known cost", found.text]


def test_a_seen_and_allowed_loss_is_called_slower() -> None:
    slow = tuple(rate * 0.93 for rate in STEADY)
    found = compare(result(level(8, *STEADY)), result(level(8, *slow)), max_regression=0.2)
    assert "slower, no regression beyond" in comparison_lines(found)[1]


def test_a_row_without_an_interval_has_dashes_and_a_reason() -> None:
    lines = comparison_lines(compare(result(level(8, 10.0)), result(level(8, 9.0)), max_regression=0.1))
    assert lines[1].split()[-2:] == ["-", "inconclusive"]
    assert "one repeat in an arm gives no interval" in "\n".join(lines)


def test_ascii_holds_no_other_character_in_the_drawing() -> None:
    before = result(level(8, *STEADY), level(1, *STEADY))
    for lines in (
        result_lines(before, ascii_only=True),
        comparison_lines(compare(before, before, max_regression=0.1), ascii_only=True),
    ):
        assert "\n".join(lines).isascii()


def test_an_empty_level_is_a_line_of_dashes() -> None:
    empty = replace(level(8), requests=0)
    assert result_lines(result(empty))[1].split()[:3] == ["8", "0.0", "0.0%"]


@given(st.floats(-1, 3), st.booleans())
def test_a_bar_never_leaves_its_width(share: float, ascii_only: bool) -> None:
    assert len(bar(share, 10, ascii_only=ascii_only)) <= 10


@pytest.mark.parametrize(
    ("share", "drawn"), [(0.0, ""), (0.5, "█████"), (0.55, "█████▌"), (1.0, "██████████")]
)
def test_bars_are_drawn_in_eighths(share: float, drawn: str) -> None:
    assert bar(share, 10) == drawn
