"""A rollout's events, with text in them that a terminal must not obey."""

from __future__ import annotations

import codecs
import io
import re
from typing import TYPE_CHECKING, Any

from rich.console import Console

from runbook import charset
from runbook.events import Called, Found, Note, Progress, Showed, StepEnded, StepStarted
from runbook.model import Change, Restart
from runbook.plan import Plan
from runbook.programs import Program
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from runbook.events import Event

HOSTILE = "[red]x[/red] [/data/models] :smile: \x1b[2J\x1b]0;title\x07\x9b31m\u202e"
PLAN = Plan(
    (Change("/root/serve.sh", b"export A=0\nkeep\n", f"export A=1\nkeep # {HOSTILE}\n".encode()),),
    (Restart("decode.service", "decode", f"running environment differs: A is '{HOSTILE}', wanted '1'"),),
)
EVENTS: tuple[Event, ...] = (
    StepStarted("health decode", 300.0),
    Progress("health decode", f"try 14 of 60, 65 s of 300 s, last: {HOSTILE}", {"attempt": 14}),
    StepEnded("health decode", Outcome.FAIL, 65.0, HOSTILE),
    Note(HOSTILE),
    Found(Finding("unit", Outcome.FAIL, HOSTILE, {"journal": f"one {HOSTILE}\ntwo"})),
    Found(Finding("health", Outcome.PASS, "passed quietly")),
    Found(Finding("ledger.expired", Outcome.PASS, "warning: old", {"severity": "warn"})),
    Showed("plan", PLAN),
    Called(
        "journal",
        "unit=decode.service",
        0.021,
        HOSTILE,
        programs=(Program(f"journalctl {HOSTILE}", 0, 0.019),),
    ),
)
# What an escape sequence begins with, and the override that turns a line around.
POWERS = re.compile(r"[\x07\x1b\x9b\u202e]")


def document(**fields: Any) -> dict[str, Any]:
    """A deploy's document as `ending` reads it."""
    whole = {
        "action": "deploy", "host": "gpu1", "outcome": "pass", "exit_code": 0, "error": None, "findings": [],
        "rolled_back_to": None, "validations": [], "bench": None, "release": "r2", "parent": "r1",
        "audit": {"seq": 3, "hash": "0" * 64}, "rollout": "20261130T074129-1268", "plan": {"changes": [{}]},
    }  # fmt: skip
    return whole | fields


def terminal(width: int, *, encoding: str = "utf-8") -> Console:
    """A terminal of this width that keeps what is written to it; `text_of` reads it."""
    stream = stream_of(encoding)
    return Console(
        file=stream, width=width, height=40, force_terminal=True, color_system=None, markup=False, emoji=False,
        highlight=False, soft_wrap=True, legacy_windows=False, _environ={"TERM": "xterm"},
    )  # fmt: skip


def stream_of(encoding: str = "utf-8") -> io.TextIOWrapper:
    """A text stream that keeps its bytes, and spells out what its encoding lacks."""
    codecs.register_error(charset.SPELLED_OUT, charset.spell_out)
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors=charset.SPELLED_OUT, write_through=True)


def text_of(console: Console) -> str:
    return written(console.file)


def written(stream: object) -> str:
    """What was written to a stream of `stream_of`."""
    assert isinstance(stream, io.TextIOWrapper)
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode(stream.encoding)
