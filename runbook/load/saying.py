"""What a load says while it goes on: lines for people, or the JSON lines that whoever started it reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO


class Say(Protocol):
    """Hears what goes on: a text for people, numbers for listeners that draw.

    A field `changed` that is false marks a line that only moves figures, and is not worth keeping in a log.
    """

    def __call__(self, text: str, /, **fields: Any) -> None: ...


def teller(out: TextIO, *, jsonl: bool) -> Say:
    """Progress as JSON lines, or as lines of text, in a log one a change; flushed one by one."""

    def say(text: str, /, **fields: Any) -> None:
        if jsonl:
            write(out, [event("progress", text=text, fields=fields)])
        elif out.isatty() or fields.get("changed", True):
            write(out, [text])

    return say


def event(kind: str, **told: Any) -> str:
    """One JSON line: `{"event": kind, …}`."""
    return json.dumps({"event": kind, **told})


def write(out: TextIO, lines: Iterable[str]) -> None:
    """Write lines, and flush them once."""
    out.writelines(f"{line}\n" for line in lines)
    out.flush()
