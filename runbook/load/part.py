"""How sessions are shared among client processes: how many processes, and which sessions are whose."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.load.options import Options

T = TypeVar("T")

A_PROCESS = 320
"""Sessions at once that one process carries in about half a core, at 58 chunks a second each (benchmarks/client_cost.py)."""


@dataclass(frozen=True, slots=True)
class Part:
    """Every `of`-th session, from `index` on."""

    index: int = 0
    of: int = 1

    def mine(self, sessions: Sequence[T]) -> Sequence[T]:
        """The sessions of this part."""
        return sessions[self.index :: self.of]

    def slots(self, at_once: int) -> int:
        """Of so many sessions at once, how many run here; at least one, since a part is never without."""
        return max(1, len(range(self.index, at_once, self.of)))


WHOLE = Part()


def parts(options: Options) -> tuple[Part, ...]:
    """One part a process: as many as the sessions at once call for, no more than there are cores or sessions at once.

    `options.processes` above 0 says how many by itself.
    """
    called_for = min(-(-options.at_once // A_PROCESS), os.cpu_count() or 1)
    number = max(1, min(options.processes or called_for, options.at_once))
    return tuple(Part(index, number) for index in range(number))
