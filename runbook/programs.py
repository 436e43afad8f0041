"""Programs that calls ran on the host, each told once however often it ran: a probe may ask one for minutes."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LIMIT = 200
_MOST_OF_A_CALL = 100
_MOST_WORDS = 2000  # the helper sends less than that
_LONGEST_COMMAND = 4000
_LONGEST_ERROR = 200
_LONGEST_S = 1e7  # a third of a year


class Program(NamedTuple):
    """One run of a program: `command` without its secrets, as a shell would read it.

    `exit` is negative for a signal, and None where it did not end or never began, as `error` says.
    """

    command: str
    exit: int | None
    took_s: float
    error: str | None = None


def of_answer(answer: Mapping[str, Any]) -> tuple[Program, ...]:
    """The programs an answer of the host names, the first 100 of them and one entry that counts the others; what is no
    program is passed over."""
    found = answer.get("ran")
    rows = found if isinstance(found, list) else []
    told = [row for row in rows if isinstance(row, dict) and isinstance(row.get("argv"), list)]
    more = len(told) - _MOST_OF_A_CALL
    others = (Program(f"({more} more programs)", None, 0.0, "left out"),) if more > 0 else ()
    return (*map(_program, told[:_MOST_OF_A_CALL]), *others)


def _program(row: Mapping[str, Any]) -> Program:
    words = [word[:_LONGEST_COMMAND] for word in row["argv"][:_MOST_WORDS] if isinstance(word, str)]
    code, error = row.get("exit"), row.get("error")
    return Program(
        shlex.join(words)[:_LONGEST_COMMAND],
        code if isinstance(code, int) and not isinstance(code, bool) else None,
        seconds(row.get("took_s")),
        error[:_LONGEST_ERROR] if isinstance(error, str) else None,
    )


def seconds(found: Any) -> float:
    """A length of time the host tells of; what is none, or longer than any call lasts, counts as no time: times are added up."""
    return found if isinstance(found, float) and 0 <= found < _LONGEST_S else 0.0


@dataclass
class Programs:
    """`rows` as the audit record has them: of each call's programs the first LIMIT that differ, in the order they first ran.

    One that ran again, and ended in the same way, counts in its row. `left_out` counts the runs that have no row.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: int = 0
    _places: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict, init=False, repr=False)

    def add(self, call: str, programs: Sequence[Program], at_s: float) -> None:
        """Take in what a call ran that began at `at_s`."""
        for one in programs:
            row = self._row(call, one, round(at_s, 3))
            if row is None:
                self.left_out += 1
                continue
            row["times"] += 1
            row["last_at_s"] = round(at_s, 3)
            row["duration_s"] = round(row["duration_s"] + one.took_s, 3)
            row["longest_s"] = max(row["longest_s"], round(one.took_s, 3))

    def _row(self, call: str, one: Program, at_s: float) -> dict[str, Any] | None:
        """Where a program is counted; None where there is no room for another."""
        key = (call, one.command, one.exit, one.error)
        if key not in self._places and len(self.rows) < LIMIT:
            named = {"call": call, "command": one.command, "exit": one.exit, "error": one.error}
            row = {**named, "times": 0, "at_s": at_s, "last_at_s": at_s, "duration_s": 0.0, "longest_s": 0.0}
            self._places[key] = row
            self.rows.append(row)
        return self._places.get(key)
