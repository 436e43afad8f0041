"""`logger` for the lab: what a program of the host puts into its journal."""

from __future__ import annotations

import getopt
import time
from typing import TYPE_CHECKING

from runbook.lab.systemd.answer import Answer
from runbook.lab.systemd.journal import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.lab.systemd.journal import Journal

# Where the lab's journal keeps what belongs to no unit.
_PLACE = "logger"


def answer(journal: Journal, argv: Sequence[str]) -> Answer:
    """Keep one message; exit code 1 with a message for what the lab does not know."""
    try:
        options, words = getopt.gnu_getopt(list(argv), "t:", ["tag="])
    except getopt.GetoptError as error:
        return Answer(err=f"logger: {error.msg}\n", code=1)
    tag = next((value for _, value in reversed(options)), "root")
    journal.append(_PLACE, Record(time.time_ns() // 1000, tag, " ".join(words)))
    return Answer()
