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
    head = "conc tok/s ± req/s in flight TTFT p50 p99 ITL p50 p99 TPOT p50 e2e p50 p99 failed"
    assert lines[0].split() == head.split()
    assert lines[1].split()[:3] == ["1", "51.0", "2.8%"]
    assert "80.0  95.5" in lines[1]
    assert "█" * 20 in lines[2]


def test_below_the_table_stand_goodput_steady_window_and_lengths() -> None:
    found = level(
        8, 100.0, 100.0, goodput=(3.0, 4.0), requests_s=(5.0, 5.0), steady_tok_s=(120.0, 110.0), steady=(0.2, 3.1),
        failures={"cut": 2}, tokens={"prompt": 2808.0, "per_request": 256.0},
    )  # fmt: skip
    lines = result_lines(replace(result(found), slo={"ttft": 200.0, "tpot": 20.0}))
    assert "goodput within ttft 200 ms, tpot 20 ms: concurrency 8: 3.50 of 5.00/s" in lines
    assert "steady, concurrency 8: 115.0 tok/s from 0.2 to 3.1 s" in lines
    assert "input 350 tokens by estimate, 351.0 a request by usage; output 256, 256.0 by usage" in lines


def test_problems_stand_below_the_table() -> None:
    lines = result_lines(result(level(8, 1.0, problems=("client-bound: 97% of its core",))))
    assert lines[-1] == "concurrency 8: client-bound: 97% of its core"


def test_reasons_that_findings_tell_beside_the_table_are_left_to_them_unless_these_pass() -> None:
    bound = result(level(8, *STEADY, problems=("client-bound: 97% of its core",)))
    assert not any("client-bound" in line for line in result_lines(bound, reasons=False))
    noisy = compare(result(level(8, *STEADY)), result(level(8, 60.0, 140.0, 90.0)), max_regression=0.1)
    assert noisy.rows[0].verdict == "inconclusive"
    why = noisy.rows[0].text(0.1)
    assert why in comparison_lines(noisy)
    assert why not in comparison_lines(noisy, reasons=False)
    assert why in comparison_lines(replace(noisy, accept="known"), reasons=False)


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
