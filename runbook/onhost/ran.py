"""Which programs a call ran: their words without secrets, how they ended, and how long they took."""

from __future__ import annotations

import contextlib
import time
from contextvars import ContextVar

from runbook.onhost.commandline import masked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Optional

LIMIT_CHARACTERS = 2000  # of the words of one program
ABSENT = "there is no such program"
NOT_ENDED = "not known to have ended"
LET_GO = "let go of"

# A program is run far below the call that needs it, and a call is answered by one thread.
_NOTED: ContextVar[Optional[list[Program]]] = ContextVar("noted", default=None)


class Program:
    """One program on its way. `exit` is None until it has ended, negative for a signal; `error` says why there is none.

    `began` is by the monotonic clock.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = argv
        self.began = time.monotonic()
        self.exit: Optional[int] = None
        self.error: Optional[str] = NOT_ENDED
        self._took_s = 0.0

    @property
    def is_open(self) -> bool:
        """Nobody has told its end yet."""
        return self.error is NOT_ENDED

    def ended(self, code: Optional[int], error: Optional[str] = None) -> None:
        """It ended now, or is waited for no longer."""
        self.exit, self.error = code, error
        self._took_s = time.monotonic() - self.began

    def row(self) -> dict[str, Any]:
        """The program as an answer carries it."""
        return {"argv": shown(self._argv), "exit": self.exit, "took_s": self._took_s, "error": self.error}


@contextlib.contextmanager
def noted() -> Iterator[list[Program]]:
    """The programs that are begun within, in their order."""
    programs: list[Program] = []
    token = _NOTED.set(programs)
    try:
        yield programs
    finally:
        _NOTED.reset(token)


def note(program: Program) -> Program:
    """Have a program told with the answer to the call in progress; outside of any it is told to nobody."""
    programs = _NOTED.get()
    if programs is not None:
        programs.append(program)
    return program


def shown(argv: Sequence[str]) -> list[str]:
    """A command's words as they may be kept: secrets masked, LIMIT_CHARACTERS in all, the others counted.

    No word is cut: of half a secret nobody could tell that it is one.
    """
    kept: list[str] = []
    room = LIMIT_CHARACTERS
    for word in masked(argv):
        room -= len(word) + 1
        if room < 0:
            return [*kept, f"({len(argv) - len(kept)} more words)"]
        kept.append(word)
    return kept
