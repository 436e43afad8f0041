"""The stand-in engine: a request comes in, its prompt is prefilled here or elsewhere, its tokens go out."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from deepseek_recipe import ConversionError

from runbook.lab.model.language import load_language
from runbook.lab.model.prefix_cache import PrefixCache
from runbook.lab.model.request import CONTEXT_LIMIT, RefusedRequestError
from runbook.lab.model.rooms import DecodeRooms, Prefilled, PrefillRooms, TransferError
from runbook.lab.model.sequence import Sequence, plan_tokens
from runbook.lab.model.speaker import Speaker

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.lab.model.batch import Batch
    from runbook.lab.model.counters import Counters
    from runbook.lab.model.language import Language
    from runbook.lab.model.request import ChatRequest
    from runbook.lab.model.switches import Switches

Role = Literal["prefill", "decode", "single"]
ROLES: tuple[Role, ...] = ("prefill", "decode", "single")


@dataclass(frozen=True, slots=True)
class Serving:
    """What one process was asked to serve: its command line as values."""

    role: Role
    host: str
    port: int
    bootstrap_port: int
    served_model_name: str
    model_path: str
    pace_tok_s: float
    event_gap_ms: float
    disable_cuda_graph: bool = False


class Engine:
    """One worker process behind its HTTP endpoint."""

    def __init__(self, serving: Serving, switches: Switches, batch: Batch, counters: Counters) -> None:
        self.serving, self.switches, self.counters = serving, switches, counters
        self.started_at = time.time()
        self.draining = False
        self._language: Language | None = None
        self._batch = batch
        self._cache = PrefixCache()
        self._accepted, self._awaited = PrefillRooms(), DecodeRooms()

    @property
    def max_running(self) -> int:
        return self._batch.max_running

    @property
    def healthy(self) -> bool:
        return self._language is not None and not self.draining and not self.switches.never_healthy

    async def run(self, start_delay_s: float) -> None:
        """Load the model, wait out the start delay, then decode for ever."""
        language = await asyncio.to_thread(load_language)
        await asyncio.sleep(start_delay_s)
        if self.serving.role == "prefill":
            await self._accepted.serve(self.serving.host, self.serving.bootstrap_port)
        self._language = language
        await self._batch.run()

    async def close(self) -> None:
        """End what still runs without a word, and hang up on the other side."""
        self._batch.close()
        self._accepted.close()
        await self._awaited.close()

    async def prefill(self, request: ChatRequest) -> Prefilled:
        """Compute the prompt, here or by waiting for the prefill process.

        Raises RefusedRequestError where the request cannot be served by this role, and 500 where the room was
        never handed over.
        """
        self.counters.requests += 1
        where = request.rendezvous
        if self.serving.role != "single" and where is None:
            raise RefusedRequestError(400, "Disaggregated request received without bootstrap room id")
        if self.serving.role == "decode" and where is not None:
            prefilled = await self._transfer(request)
        else:
            prefilled = self._compute(request)
        self.counters.prompt_tokens += prefilled.prompt_tokens
        self.counters.cached_tokens += prefilled.cached_tokens
        return prefilled

    def sequence(self, request: ChatRequest, prefilled: Prefilled, send: Callable[[bytes], bool]) -> Sequence:
        """The answer to a prefilled request, not yet started; `send` will get the response's bytes."""
        limit = 1 if self.serving.role == "prefill" else _limit(request, prefilled)
        speaker = Speaker(
            request,
            self._loaded.tokenizer,
            prefilled,
            id=f"chatcmpl-{uuid.uuid4().hex}",
            model=self.serving.served_model_name,
        )
        plan = plan_tokens(request, self._loaded, limit)
        return Sequence(plan, speaker, send, limit=limit, ignore_eos=request.ignore_eos)

    def start(self, request: ChatRequest, prefilled: Prefilled, sequence: Sequence) -> None:
        """Start to say it: prefill says its one token and hands the room over, the others decode in the batch."""
        if self.serving.role != "prefill" or request.rendezvous is None:
            self._batch.add(sequence)
            return
        sequence.decode()
        self._accepted.accept(request.rendezvous.room, prefilled)
        sequence.flush()

    def _compute(self, request: ChatRequest) -> Prefilled:
        ids = self._loaded.prompt_ids(request.parsed.conversation)
        return Prefilled(len(ids), self._cache.admit(ids))

    async def _transfer(self, request: ChatRequest) -> Prefilled:
        assert request.rendezvous is not None
        try:
            return await self._awaited.wait(request.rendezvous)
        except TransferError as error:
            message = f"Decode transfer failed: {error}"
            raise RefusedRequestError(500, message, kind="InternalServerError") from None

    @property
    def _loaded(self) -> Language:
        if self._language is None:
            raise RefusedRequestError(503, "The server is starting", kind="ServiceUnavailableError")
        return self._language


def _limit(request: ChatRequest, prefilled: Prefilled) -> int:
    try:
        return request.parsed.resolve_max_tokens(prefilled.prompt_tokens, CONTEXT_LIMIT)
    except ConversionError as error:
        raise RefusedRequestError(error.status_code, error.body) from None
