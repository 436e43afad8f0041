"""A request being decoded: the tokens it will say, and how far it is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from runbook.lab.model.language import EOS
from runbook.lab.model.scenario import answer, sentences

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.lab.model.language import Language
    from runbook.lab.model.request import ChatRequest

_SPARE_TOKENS = 64


class Voice(Protocol):
    """What a sequence speaks through; `Speaker` is the real one."""

    @property
    def finished(self) -> bool: ...
    def start(self) -> bytes: ...
    def say(self, tokens: list[int]) -> bytes: ...
    def end(self, *, length: bool) -> bytes: ...


def plan_tokens(request: ChatRequest, language: Language, limit: int) -> list[int]:
    """The tokens the model will say: the right turn, and with ignore_eos more prose up to `limit` tokens."""
    ids = language.turn_ids(answer(request), thinking=request.thinking)
    if not request.ignore_eos:
        return ids
    ids.remove(EOS)
    for sentence in sentences(request.messages):
        if len(ids) >= limit + _SPARE_TOKENS:
            break
        ids += language.tokenizer.encode(f" {sentence}")
    return ids


class Sequence:
    """One running request. `plan` may be spliced ahead of `position` while it runs: that is how a race shows.

    `send` takes bytes for the client and returns False where the client has gone. `done` is set at the end: True
    when everything was said, False when the client left.
    """

    __slots__ = (
        "_ignore_eos", "_length", "_limit", "_opening", "_send", "_voice",
        "done", "ended", "plan", "position", "unsaid",
    )  # fmt: skip

    def __init__(
        self,
        plan: list[int],
        voice: Voice,
        send: Callable[[bytes], bool],
        *,
        limit: int,
        ignore_eos: bool = False,
    ) -> None:
        self.plan = plan
        self.position = 0
        self.unsaid: list[int] = []
        self.ended = False
        self.done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._voice, self._send = voice, send
        self._limit, self._ignore_eos, self._length = limit, ignore_eos, False
        self._opening = voice.start()

    @property
    def silent(self) -> bool:
        """Whether nothing was sent yet: the first token never waits for others."""
        return bool(self._opening)

    def decode(self) -> bool:
        """One decode step; returns whether it produced a token."""
        token = self.plan[self.position] if self.position < len(self.plan) else None
        if token is None or (token == EOS and not self._ignore_eos):
            self.ended = True
            return False
        self.position += 1
        self.unsaid.append(token)
        if self.position >= self._limit:
            self.ended = self._length = True
        return True

    def flush(self) -> None:
        """Say the tokens of the steps since the last flush, and where the sequence ended the end."""
        said = self._opening + self._voice.say(self.unsaid)
        self._opening, self.unsaid = b"", []
        self.ended = self.ended or self._voice.finished
        if self.ended:
            said += self._voice.end(length=self._length)
        if said and not self._send(said):
            self.abort()
        elif self.ended:
            self._settle(True)

    def abort(self) -> None:
        """End without a word: the client left, or the process stops."""
        self.ended = True
        self._settle(False)

    def _settle(self, whole: bool) -> None:
        if not self.done.done():
            self.done.set_result(whole)
