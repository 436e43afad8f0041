"""What a command line tool of the lab answers with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    out: str = ""
    err: str = ""
    code: int = 0
