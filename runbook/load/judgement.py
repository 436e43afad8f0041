"""What one turn's answer means for its session: go on, or end under a name. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity
from runbook.load.exchange import Exchange, examine
from runbook.load.judges import judge
from runbook.load.judges.badtool import ends_early

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.load.assembly import Reply
    from runbook.load.exchange import Answer, Turn
    from runbook.load.nonces import Registry
    from runbook.load.script import Script

DONE_ENDS = ("maxrounds", "done")
DECLINED_ENDS = ("budget", "notool")
"""The model went no further: no corruption, and no copy that could be compared."""
GOOD_ENDS = (*DONE_ENDS, *DECLINED_ENDS)
INFRA_ENDS = ("error", "streamerror", "timeout", "refused", "abort", "cancelled")
_SEEN_IN_PART = frozenset(("flood", "leak", "badutf8", "foreign"))
"""Classes that need no whole response: a server may flood until the deadline."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judged turn. `end` is the session's outcome, None while it goes on; `corrupt` says that it is a class."""

    turn: Turn
    reply: Reply
    defects: tuple[Defect, ...]
    end: str | None
    corrupt: bool
    detail: str = ""


def judge_turn(
    script: Script, turn: Turn, answer: Answer, registry: Registry, *, max_tokens: int
) -> Judgement:
    """Judge one answer. Never raises, whatever bytes the server sent."""
    exchange = examine(script, turn, answer, registry, max_tokens)
    defects = judge(exchange)
    if answer.end in INFRA_ENDS:
        defects = tuple(defect for defect in defects if defect.kind in _SEEN_IN_PART)
    corrupt = corruption(defects)
    if corrupt:
        end: str | None = corrupt
    elif answer.end in INFRA_ENDS:
        end = answer.end
    else:
        end = _end(exchange, defects)
    return Judgement(turn, exchange.reply, defects, end, bool(corrupt), answer.detail)


def corruption(defects: Sequence[Defect]) -> str | None:
    """The class that makes a response corrupt: its first hard defect, or the first of two soft kinds."""
    hard = [defect.kind for defect in defects if defect.severity is Severity.HARD]
    soft = list(dict.fromkeys(defect.kind for defect in defects if defect.severity is Severity.SOFT))
    if any(defect.severity is Severity.INFRA for defect in defects):
        hard = [kind for kind in hard if kind in _SEEN_IN_PART]
        soft = []
    if hard:
        return hard[0]
    return soft[0] if len(soft) > 1 else None


def _end(exchange: Exchange, defects: Sequence[Defect]) -> str | None:
    """How an uncorrupted response ends its session; None: it does not."""
    reply, script = exchange.reply, exchange.script
    if any(defect.severity is Severity.INFRA for defect in defects):
        return "streamerror"
    finishing = exchange.turn.name == "finish"
    if not reply.calls:
        if reply.finish_reason == "length":
            return "budget"
        return "done" if finishing and script.code in reply.content.text else "notool"
    if finishing:
        return "maxrounds"
    call = reply.calls[0]
    return "done" if ends_early(exchange, call.name, call.arguments.text) else None
