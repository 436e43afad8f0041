"""Prompts of a fixed length that no prefix cache has seen.

A prompt starts with a nonce, so the first token already differs between requests, repeats and runs: a warm prefix
cache would show up to 2.3 times the true rate (vllm-project/vllm#52884). The rest is common short English words, which
byte-pair vocabularies hold as one token each with the space before them. So a word is counted as a token
(an estimate; the warm-up's usage corrects it); with a tokenizer the length is exact, before the chat template.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

NONCE_TOKENS = 10  # 16 hexadecimal digits and the colon, about
_WORDS = (
    "time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school", "state",
    "family", "student", "group", "country", "problem", "hand", "part", "place", "case", "week", "company", "system",
    "program", "question", "work", "government", "number", "night", "point", "home", "water", "room", "mother", "area",
    "money", "story", "fact", "month", "lot", "right", "study", "book", "eye", "job", "word", "business", "issue",
    "side", "kind", "head", "house", "service", "friend", "father", "power", "hour", "game", "line", "end", "member",
    "law", "car", "city", "name", "team", "minute", "idea", "body", "back", "face", "others", "level", "office", "door",
    "health", "person", "art", "war", "history", "party", "result", "change", "morning", "reason", "research", "girl",
    "guy", "moment", "air", "teacher", "force",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Exact:
    """A length in tokens and the tokenizer that counts them."""

    tokens: int
    count: Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Prompts:
    """Makes the prompt of a request. `run` is fresh for every run; `words` fill up to the wanted length."""

    run: str
    words: int
    seed: int = 0
    exact: Exact | None = None

    def prompt(self, label: str) -> str:
        """The prompt of one request; `label` is unlike that of any other request of the run."""
        if self.exact is not None:
            return fitted(replace(self, exact=None), label, self.exact)
        chance = random.Random(f"{self.seed}/{label}")
        nonce = f"{random.Random(f'{self.run}/{label}').getrandbits(64):016x}"
        return f"{nonce}: {' '.join(chance.choices(_WORDS, k=self.words))}"

    def adjusted(self, wanted: int, seen: int) -> Prompts:
        """Prompts longer or shorter by what the server counted (`seen` tokens) beside what was wanted."""
        return replace(self, words=max(1, self.words + wanted - seen))


def prompts(run: str, tokens: int, *, seed: int = 0, count: Callable[[str], int] | None = None) -> Prompts:
    """Prompts of about `tokens` tokens by the estimate of one token a word, or of exactly as many by `count`."""
    exact = None if count is None else Exact(tokens, count)
    return Prompts(run, max(1, tokens - NONCE_TOKENS), seed, exact)


def fitted(made: Prompts, label: str, exact: Exact) -> str:
    """A prompt of exactly the wanted tokens, or the nearest one below where no number of words gives them.

    A word is nearly always one token, so two counts do; where they do not, the number of words is searched for.
    """
    for _ in range(2):
        text = made.prompt(label)
        if (counted := exact.count(text)) == exact.tokens:
            return text
        made = made.adjusted(exact.tokens, counted)
    low, high = 1, max(2, 2 * exact.tokens)
    while low < high:
        middle = (low + high + 1) // 2
        fits = exact.count(replace(made, words=middle).prompt(label)) <= exact.tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    return replace(made, words=low).prompt(label)
