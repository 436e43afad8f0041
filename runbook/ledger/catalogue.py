"""What is known of environment variables: kinds, old names, diagnostics and what they cost."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Read it with runbook.inventory.document, the one importer of YAML.
SHIPPED = Path(__file__).with_name("catalogue.yml")

_OFF = frozenset({"", "0", "false", "no", "n"})


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Names (globs) that must not stay, and their cost. Without `values` every value but an off one counts."""

    names: tuple[str, ...]
    cost: str
    why: str = ""
    values: frozenset[str] = frozenset()

    def matches(self, name: str, value: str | None) -> bool:
        """Whether this setting costs it; a value only known at run time is taken to."""
        return self.names_it(name) and (value is None or self._costs(value.lower()))

    def names_it(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.names)

    def _costs(self, value: str) -> bool:
        return value in self.values if self.values else value not in _OFF

    @property
    def text(self) -> str:
        return f"{self.cost}; {self.why}" if self.why else self.cost


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The names of catalogue.yml. `known` holds every name of any kind, old and new."""

    prefixes: tuple[str, ...]
    ambient: frozenset[str]
    booleans_read: tuple[str, ...]
    booleans: frozenset[str]
    numbers: frozenset[str]
    known: frozenset[str]
    renamed: Mapping[str, str]
    diagnostics: tuple[Diagnostic, ...]
    suspicious: tuple[str, ...]
    harmless: frozenset[str]

    def is_ours(self, name: str) -> bool:
        """Whether a variable is the engine's or a library's under it, and nobody's surroundings."""
        return name.startswith(self.prefixes) and name not in self.ambient

    def diagnostic(self, name: str, value: str | None) -> str | None:
        """What a setting costs as a diagnostic, None when it is none (or is switched off)."""
        listed = [diagnostic for diagnostic in self.diagnostics if diagnostic.names_it(name)]
        if listed:
            return next((each.text for each in listed if each.matches(name, value)), None)
        if name in self.harmless or not self.is_ours(name) or (value is not None and value.lower() in _OFF):
            return None
        word = next((word for word in self.suspicious if re.search(f"(^|_){word}(_|$)", name)), None)
        return f"its name says {word}" if word else None

    def rejected(self, name: str, value: str) -> str | None:
        """What SGLang reads instead of this value, None when it reads it."""
        if name in self.booleans and value.lower() not in self.booleans_read:
            return f"one of {', '.join(self.booleans_read)}"
        return "a number" if name in self.numbers and not _is_number(value) else None


def parse(document: Mapping[str, Any]) -> Catalogue:
    """The catalogue of catalogue.yml's document; KeyError where a list is missing."""
    booleans, numbers = frozenset(document["booleans"]), frozenset(document["numbers"])
    renamed = dict(document["renamed"])
    return Catalogue(
        prefixes=tuple(document["prefixes"]),
        ambient=frozenset(document["ambient"]),
        booleans_read=tuple(document["booleans_read"]),
        booleans=booleans,
        numbers=numbers,
        known=frozenset().union(booleans, numbers, document["texts"], renamed, renamed.values()),
        renamed=renamed,
        diagnostics=tuple(_diagnostic(entry) for entry in document["diagnostics"]),
        suspicious=tuple(document["suspicious"]),
        harmless=frozenset(document["harmless"]),
    )


def near(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be, None when none is.

    Near is: equal but for case and underscores, at most two letters typed wrong (one in a short name), or one word
    more or less.
    """
    others = sorted(set(known) - {name})
    squeezed = _squeezed(name)
    allowed = 2 if len(squeezed) >= 10 else 1
    close = [
        (distance, other)
        for other in others
        if (distance := _distance(squeezed, _squeezed(other))) <= allowed
    ]
    return min(close)[1] if close else next((other for other in others if _one_word_off(name, other)), None)


def _diagnostic(entry: Mapping[str, Any]) -> Diagnostic:
    values = frozenset(value.lower() for value in entry.get("values", ()))
    return Diagnostic(tuple(entry["names"]), entry["cost"], entry.get("why", ""), values)


def _squeezed(name: str) -> str:
    return name.replace("_", "").upper()


def _one_word_off(name: str, other: str) -> bool:
    mine, theirs = name.upper().split("_"), other.upper().split("_")
    short, long = sorted((mine, theirs), key=len)
    if len(long) - len(short) != 1 or len(short) < 4:
        return False
    return any(long[:index] + long[index + 1 :] == short for index in range(1, len(long)))


def _distance(a: str, b: str) -> int:
    """Levenshtein distance, or 3 as soon as it must be more than two."""
    if abs(len(a) - len(b)) > 2:
        return 3
    same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    a, b = a[same:], b[same:]
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, row = row, [i]
        for j, other in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != other)))
        if min(row) > 2:
            return 3
    return row[-1]


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
