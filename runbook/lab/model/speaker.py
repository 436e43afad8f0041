"""From tokens to the client: DeepSeek's parser and chunk generator, and what the server adds to them."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from deepseek_recipe import (
    ChatCompletionChunk,
    ChatCompletionRequest,
    ChatCompletionResponse,
    InferenceChunk,
    InferenceFinishReason,
    PromptUsage,
    StreamProcessor,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_recipe import Tokenizer

    from runbook.lab.model.request import ChatRequest
    from runbook.lab.model.rooms import Prefilled

DONE = b"data: [DONE]\n\n"


class Speaker:
    """One response: token ids in, bytes out (server-sent events, or at the end one JSON document)."""

    def __init__(
        self, request: ChatRequest, tokenizer: Tokenizer, prefilled: Prefilled, *, id: str, model: str
    ) -> None:
        parsed = request.parsed
        generator = ChatCompletionRequest.chunk_generator(parsed, id, model)
        self._processor = StreamProcessor(generator, parsed.parsing_options, tokenizer)
        self._stream, self._include_usage = request.stream, request.include_usage
        self._whole = ChatCompletionResponse(
            id, model, int(time.time()), prefilled.prompt_tokens, prefilled.cached_tokens
        )
        self._usage = PromptUsage(
            prompt_tokens=prefilled.prompt_tokens, prompt_cache_hit_tokens=prefilled.cached_tokens
        )

    @property
    def finished(self) -> bool:
        """Whether the parser needs no more tokens: a stop sequence was reached."""
        return self._processor.finished

    def start(self) -> bytes:
        """The first chunk: the role."""
        return self._render(InferenceChunk.ready(prompt_usage=self._usage))

    def say(self, tokens: list[int]) -> bytes:
        """What the client gets for these tokens: often one event, sometimes none or several."""
        return self._render(InferenceChunk.tokens(tokens)) if tokens else b""

    def end(self, *, length: bool) -> bytes:
        """The last events, `[DONE]` included; for a request without stream the whole document."""
        reason = InferenceFinishReason.Length if length else InferenceFinishReason.Stop
        chunks = self._chunks(InferenceChunk.finish(reason))
        if self._stream:
            return b"".join(map(self._last_event, chunks)) + DONE
        self._accumulate(chunks)
        return self._whole.to_json().encode()

    def _render(self, chunk: InferenceChunk) -> bytes:
        chunks = self._chunks(chunk)
        if self._stream:
            return b"".join([_event(each.to_json()) for each in chunks])
        self._accumulate(chunks)
        return b""

    def _chunks(self, chunk: InferenceChunk) -> Sequence[ChatCompletionChunk]:
        # A stop sequence ends the parser before the engine's next token does.
        return [] if self._processor.finished else self._processor.push(chunk)  # type: ignore[return-value]

    def _accumulate(self, chunks: Sequence[ChatCompletionChunk]) -> None:
        for each in chunks:
            self._whole.accumulate(each)

    def _last_event(self, chunk: ChatCompletionChunk) -> bytes:
        """The finish chunk as SGLang sends it: usage apart, and only where it was asked for."""
        document: dict[str, Any] = json.loads(chunk.to_json())
        usage = document.pop("usage", None)
        if usage is None or not self._include_usage:
            return _event(_compact(document))
        return _event(_compact(document)) + _event(_compact({**document, "choices": [], "usage": usage}))


def _event(text: str) -> bytes:
    return b"data: %b\n\n" % text.encode()


def _compact(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
