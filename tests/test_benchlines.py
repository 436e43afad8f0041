from __future__ import annotations

import pytest

from runbook import benchlines
from runbook.text import columns
from runbook.validations import bench
from tests.load.bench.made import level, result

ALONE = bench.alone(result(level(1, 100.0, 101.0, 99.0), level(80, 900.0, 901.0, 899.0)).to_json())


def test_where_there_is_room_a_bench_is_its_table() -> None:
    assert benchlines.of_judged(ALONE, None) == list(ALONE.table)
    assert benchlines.of_judged(ALONE, 500) == list(ALONE.table)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_where_it_is_narrow_no_line_of_a_bench_is_cut(width: int) -> None:
    lines = benchlines.of_judged(ALONE, width)
    assert max(map(columns, lines)) <= width
    said = " ".join(line.strip() for line in lines)
    assert "concurrency 80: 900.0 tok/s" in said
    assert all(line in said for line in ALONE.table[ALONE.aligned :])


def test_the_columns_stay_where_only_what_stands_below_them_is_too_wide() -> None:
    width = max(map(columns, ALONE.table[: ALONE.aligned]))
    lines = benchlines.of_judged(ALONE, width)
    assert lines[: ALONE.aligned] == list(ALONE.table[: ALONE.aligned])
    assert max(map(columns, lines)) <= width
