"""Options on a command line: which words name them, which are their values, and where only a run can tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.edits.shell.words import Word

NAME = re.compile(r"--?[A-Za-z][A-Za-z0-9_.-]*\Z")
SWITCH = re.compile(r"--(?:disable|enable|enforce|no|skip|trust)[-_]")
_SEVERAL = re.compile(r"[@*]|(?i:args|opts|options|flags|extra)")


class Option(NamedTuple):
    """What is given to an option: `--x 1`, `--x=1` or `--x` alone (`value` None and not `given`).

    `value` is None and `given` true where only a run can tell the value.
    """

    value: str | None
    given: bool


class Place(NamedTuple):
    """An option's words: position of its name, and how many words of values follow."""

    at: int
    values: int
    joined: bool

    @property
    def span(self) -> range:
        """The positions of all of its words."""
        return range(self.at, self.at + 1 + self.values)


def places(words: Sequence[Word]) -> Iterator[Place]:
    """The options among the launched command's words, up to `--`."""
    at = 1
    while at < len(words) and words[at].text != "--":
        name = name_of(words[at])
        values = _values(words, at) if name and "=" not in words[at].raw else 0
        if name:
            yield Place(at, values, "=" in words[at].raw)
        at += 1 + values


def name_of(word: Word) -> str:
    """The option a word names, or nothing."""
    head = (word.text if word.text is not None else word.raw).partition("=")[0]
    return head if NAME.match(head) else ""


def _values(words: Sequence[Word], at: int) -> int:
    """How many words after an option's name are its values."""
    count = 0
    for word in words[at + 1 :]:
        negative = re.match(r"-[0-9.]", word.raw)
        if splits(word) or name_of(word) or (word.raw.startswith("-") and not negative):
            break
        count += 1
    return count


def splits(word: Word) -> bool:
    """Whether a dynamic word may stand for several, or for none."""
    quoted = word.raw.startswith('"') and word.raw.endswith('"')
    if word.text is not None or name_of(word):
        return False
    return bool(re.search(r"\[@\]|\$@|\$\{@", word.raw)) if quoted else bool(_SEVERAL.search(word.raw))


def described(words: Sequence[Word], found: Place) -> Option:
    """What is given to the option in a place."""
    if found.joined:
        text = words[found.at].text
        return Option(None if text is None else text.partition("=")[2], True)
    texts = [value.text for value in words[found.at + 1 : found.at + 1 + found.values]]
    known = [text for text in texts if text is not None]
    return Option(" ".join(known) if texts and len(known) == len(texts) else None, bool(texts))
