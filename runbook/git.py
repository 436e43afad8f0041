"""What git says of a checkout here: every question at once, under one deadline, since a git that hangs hangs at each."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from runbook.onhost.calls import Refusal
from runbook.onhost.command import Running

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DEADLINE_S = 10.0


def ask(directory: Path, *questions: Sequence[str], deadline_s: float = DEADLINE_S) -> list[str | None]:
    """git's answers in `directory` to these commands, in their order, each `deadline_s` after its start at the latest.

    None where there is no git, where it has no answer, and where it gave none in time.
    """
    with contextlib.ExitStack() as stack:
        asked = [_begun(directory, words, stack) for words in questions]
        return [None if program is None else _answer(program, deadline_s) for program in asked]


def _begun(directory: Path, words: Sequence[str], stack: contextlib.ExitStack) -> Running | None:
    argv = ["git", "--no-optional-locks", "-C", str(directory), *words]
    with contextlib.suppress(OSError):
        return stack.enter_context(Running(argv))
    return None


def _answer(program: Running, deadline_s: float) -> str | None:
    try:
        return program.text(timeout_s=deadline_s).strip()
    except Refusal:
        return None
