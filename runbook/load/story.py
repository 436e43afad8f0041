"""What a session has been through: in the making, and as the frozen record it ends as."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.load.streams import Spool

if TYPE_CHECKING:
    from runbook.load.defects import Defect
    from runbook.load.exchange import Answer, Turn
    from runbook.load.judgement import Judgement


@dataclass(frozen=True, slots=True)
class Seen:
    """A defect and the turn it was seen in; rounds count from 1, the round after the last is `finish`."""

    turn: int
    round: int
    defect: Defect


@dataclass(frozen=True, slots=True)
class Record:
    """A session that ended. `end` is its outcome, `corrupt` says that it is a corruption class.

    `served_s` is the part of its time in which the server had a request of it: the rest it waited for this client.
    `tokens` counts output tokens by the server's usage, `prompt_tokens` those of the first request; `chunks`
    counts events that carried output, `without_usage` responses that gave no count. `status` is the HTTP status
    of the last response. Times by `perf_counter`.
    """

    session: int
    wave: int
    end: str
    corrupt: bool
    detail: str
    seen: tuple[Seen, ...]
    turns: int
    tokens: int
    prompt_tokens: int
    chunks: int
    without_usage: int
    status: int
    began: float
    ended: float
    served_s: float = 0.0

    @property
    def clean(self) -> bool:
        """Every round done and no defect: nothing to look at again."""
        return self.end == "maxrounds" and not self.seen


class Story:
    """A session in progress."""

    def __init__(self, session: int, wave: int) -> None:
        self.session, self.wave = session, wave
        self.began = time.perf_counter()
        self.spool = Spool()
        self.prompt_tokens = 0
        self.turns = self.tokens = self.chunks = self.without_usage = 0
        self.status = 200
        self.served_s = 0.0
        self.seen: list[Seen] = []

    def add(self, turn: Turn, answer: Answer, judgement: Judgement) -> None:
        """One turn is over."""
        self.turns, self.status = turn.number, answer.status
        self.seen.extend(Seen(turn.number, turn.round, defect) for defect in judgement.defects)
        self.chunks += judgement.reply.chunks
        tokens = judgement.reply.completion_tokens
        self.tokens += tokens or 0
        self.prompt_tokens = self.prompt_tokens or judgement.reply.prompt_tokens or 0
        self.without_usage += tokens is None and answer.end == "complete"
        self.spool.add(turn.number, answer)

    def ended(self, end: str, *, corrupt: bool, detail: str) -> Record:
        """The session as it ended."""
        return Record(
            session=self.session,
            wave=self.wave,
            end=end,
            corrupt=corrupt,
            detail=detail,
            seen=tuple(self.seen),
            turns=self.turns,
            tokens=self.tokens,
            prompt_tokens=self.prompt_tokens,
            chunks=self.chunks,
            without_usage=self.without_usage,
            status=self.status,
            began=self.began,
            ended=time.perf_counter(),
            served_s=self.served_s,
        )
