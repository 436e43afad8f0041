"""Prompts of a fixed length that no prefix cache has seen.

A prompt starts with a nonce, so the first token already differs between requests, repeats and runs: a warm prefix
cache would show up to 2.3 times the true rate (vllm-project/vllm#52884). The rest is common short English words, which
byte-pair vocabularies hold as one token each with the space before them. So a word is counted as a token
(an estimate, within a few percent on DeepSeek's vocabulary); `fitted` makes it exact with a tokenizer.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
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
class Prompts:
    """Makes the prompt of a request. `run` is fresh for every run; `words` fill up to the wanted length."""

    run: str
    words: int
    seed: int = 0

    def prompt(self, label: str) -> str:
        """The prompt of one request; `label` is unlike that of any other request of the run."""
        chance = random.Random(f"{self.seed}/{label}")
        nonce = f"{random.Random(f'{self.run}/{label}').getrandbits(64):016x}"
        return f"{nonce}: {' '.join(chance.choices(_WORDS, k=self.words))}"

    def adjusted(self, wanted: int, seen: int) -> Prompts:
        """Prompts longer or shorter by what the server counted (`seen` tokens) beside what was wanted."""
        return Prompts(self.run, max(1, self.words + wanted - seen), self.seed)


def prompts(run: str, tokens: int, *, seed: int = 0) -> Prompts:
    """Prompts of about `tokens` tokens, by the estimate of one token a word."""
    return Prompts(run, max(1, tokens - NONCE_TOKENS), seed)


def fitted(made: Prompts, label: str, tokens: int, count: Callable[[str], int]) -> str:
    """A prompt of exactly `tokens` tokens by `count`, or the nearest one below where no number of words gives it."""
    low, high = 1, max(2, 2 * tokens)
    while low < high:
        middle = (low + high + 1) // 2
        fits = count(Prompts(made.run, middle, made.seed).prompt(label)) <= tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    return Prompts(made.run, low, made.seed).prompt(label)
