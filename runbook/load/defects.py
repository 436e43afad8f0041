"""A defect: one thing wrong with one response, how much it weighs, and where it was seen."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass
from typing import Any

_EXCERPT = 120


class Severity(str, enum.Enum):
    """How much one defect says about the server.

    hard: alone makes a session corrupt. soft: two kinds of it in one response do. rate: what a model's own
    copying errors look like, so only its rate against a control arm speaks. infra: no answer to judge.
    """

    HARD = "hard"
    SOFT = "soft"
    RATE = "rate"
    INFRA = "infra"


@dataclass(frozen=True, slots=True)
class Defect:
    """One defect of one response.

    `kind` is the corruption class, the name of the judge's file; `offset` the byte in the raw stream of the
    response (-1: the end, or nowhere in particular); `excerpt` at most 120 characters of what was seen.
    """

    kind: str
    severity: Severity
    message: str
    offset: int = -1
    excerpt: str = ""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "severity": self.severity.value}


def excerpt(text: str, at: int = 0) -> str:
    """At most 120 characters of the text, from a little before `at`, printable whatever they are."""
    start = max(0, at - _EXCERPT // 4)
    return text[start : start + _EXCERPT].encode("ascii", "backslashreplace").decode()[:_EXCERPT]
