"""What a word of the command line was probably meant to be, where it is no task and no option."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_WORD = re.compile(r"No idea what '(.+)' is!", re.DOTALL)  # Invoke's own words for it


def hint(said: str, task: str | None, options: Collection[str], tasks: Collection[str]) -> str:
    """What to write instead of the word that Invoke does not know, as a sentence; empty where nothing comes to mind.

    `said` is Invoke's message, `task` the one whose `options` it was reading, None before the first.
    """
    found = _WORD.match(said)
    if not found:
        return ""
    word = found[1]
    if task is None:
        return _meant(_tasks_like(word, tasks))
    if word.startswith("-"):
        return _meant(difflib.get_close_matches(word, options, n=2))
    return f"a host is named by --host {word}" if "--host" in options else ""


def _tasks_like(word: str, tasks: Collection[str]) -> Iterable[str]:
    """Tasks spelt like the word, else those of any group that are called so: `adopt` for hosts.adopt."""
    return difflib.get_close_matches(word, tasks, n=2) or [
        task for task in sorted(tasks) if word in task.split(".")
    ]


def _meant(names: Iterable[str]) -> str:
    listed = " or ".join(names)
    return f"did you mean {listed}?" if listed else ""
