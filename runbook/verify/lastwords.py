"""What a process that died said last, out of its unit's journal: mostly the very reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runbook.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LONGEST = 240
# A line of journalctl --output=short-iso: moment, host, who speaks, its pid.
_LINE = re.compile(r"\S+ \S+ ([^\[\]:]+)(?:\[(\d+)\])?: (.*)")
_MANAGER = "systemd"
_DEATH = re.compile(r"Main process exited|Control process exited|killed by the OOM killer")


class Said(NamedTuple):
    speaker: str
    pid: str
    text: str

    @property
    def by_manager(self) -> bool:
        return self.speaker == _MANAGER


def of(journal: str) -> str | None:
    """The last line of the process that died last, at most LONGEST characters; None where it said nothing.

    A start after that death speaks under another pid, and is not asked. What the dying say may stand behind what systemd
    says of their death, so that a pid counts wherever its lines stand.
    """
    lines = [line for line in _lines(journal) if line.text.strip()]
    dead = _last_to_die(lines)
    told = [line.text for line in lines if not line.by_manager and (dead is None or line.pid == dead)]
    return one_line(told[-1], LONGEST) if told else None


def sentence(journal: str) -> list[str]:
    """`its last words: …` as a part of a message; empty where there are none."""
    last = of(journal)
    return [f"its last words: {last}"] if last else []


def _last_to_die(lines: Sequence[Said]) -> str | None:
    """The pid that first spoke before the last death and last of all such; None where no death is told or nobody spoke before."""
    deaths = [at for at, line in enumerate(lines) if line.by_manager and _DEATH.search(line.text)]
    before = [line.pid for line in lines[: deaths[-1]] if not line.by_manager] if deaths else []
    return before[-1] if before else None


def _lines(journal: str) -> Iterator[Said]:
    for line in journal.splitlines():
        if found := _LINE.fullmatch(line):
            yield Said(found[1].strip(), found[2] or "", found[3])
