"""Which prompt prefixes are still in the KV cache, page by page."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE_TOKENS = 64


class PrefixCache:
    """The most recent `pages` pages, each known by the tokens from the prompt's first to the page's last."""

    def __init__(self, pages: int = 16_384) -> None:
        self._limit = pages
        self._pages: OrderedDict[int, None] = OrderedDict()

    def admit(self, ids: Sequence[int]) -> int:
        """Keep a prompt; returns how many of its tokens were cached before. The last token is always computed."""
        cached, unbroken = 0, True
        for page in _pages(ids):
            unbroken = unbroken and page in self._pages
            cached += PAGE_TOKENS if unbroken else 0
            self._keep(page)
        return min(cached, max(0, len(ids) - 1))

    def _keep(self, page: int) -> None:
        self._pages[page] = None
        self._pages.move_to_end(page)
        if len(self._pages) > self._limit:
            self._pages.popitem(last=False)


def _pages(ids: Sequence[int]) -> Iterator[int]:
    chained = 0
    for start in range(0, len(ids) - PAGE_TOKENS + 1, PAGE_TOKENS):
        chained = hash((chained, tuple(ids[start : start + PAGE_TOKENS])))
        yield chained
