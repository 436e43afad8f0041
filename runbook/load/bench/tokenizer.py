"""A tokenizer.json as a counter that may travel to other client processes: each reads the file once by itself."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.load.tokens import counter

if TYPE_CHECKING:
    from runbook.load.tokens import Count


@dataclass(frozen=True, slots=True)
class TokenizerFile:
    """Counts the tokens of a text exactly; the first call reads the file. Raises NoTokenizerError."""

    path: str

    def __call__(self, text: str) -> int:
        return int(_read(self.path)(text))


@functools.cache
def _read(path: str) -> Count:
    return counter(path)
