from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.lab.model.prefix_cache import PAGE_TOKENS, PrefixCache

PROMPT = list(range(200))


def test_a_new_prompt_is_not_cached_and_the_same_again_is_by_whole_pages() -> None:
    cache = PrefixCache()
    assert cache.admit(PROMPT) == 0
    assert cache.admit(PROMPT) == 3 * PAGE_TOKENS


@pytest.mark.parametrize(
    ("change_at", "cached"), [(0, 0), (63, 0), (64, 64), (127, 64), (128, 128), (199, 192)]
)
def test_cached_is_what_comes_before_the_first_difference(change_at: int, cached: int) -> None:
    cache = PrefixCache()
    cache.admit(PROMPT)
    other = [*PROMPT]
    other[change_at] = -1
    assert cache.admit(other) == cached


def test_the_last_token_is_always_computed() -> None:
    cache = PrefixCache()
    cache.admit(PROMPT[:128])
    assert cache.admit(PROMPT[:128]) == 127


def test_old_pages_are_forgotten() -> None:
    cache = PrefixCache(pages=3)
    cache.admit(PROMPT)
    cache.admit([-token for token in PROMPT])
    assert cache.admit(PROMPT) == 0


@given(st.lists(st.integers(0, 3), max_size=400), st.lists(st.integers(0, 3), max_size=400))
def test_cached_never_exceeds_the_common_prefix(first: list[int], second: list[int]) -> None:
    cache = PrefixCache()
    cache.admit(first)
    common = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), None)
    longest = min(len(first), len(second)) if common is None else common
    assert cache.admit(second) <= longest
