"""An agent session without sockets: requests as a client builds them, answers as the model gives them."""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any

from runbook.lab.model.language import EOS
from runbook.lab.model.request import parse_request
from runbook.lab.model.rooms import Prefilled
from runbook.lab.model.sequence import Sequence, plan_tokens
from runbook.lab.model.speaker import Speaker
from runbook.load.nonces import Registry
from runbook.load.prompts import (
    TOOLS,
    assistant_message,
    fetch_answer,
    finish_message,
    round_message,
    store_answer,
    system_message,
)
from runbook.load.script import Script, Shape, write_scripts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.lab.model.language import Language
    from runbook.lab.model.request import ChatRequest

MODEL = "deepseek-v4-flash"
Message = dict[str, Any]


def write_script(rounds: int = 3, rows: int = 24, seed: int = 1) -> Script:
    return write_scripts(Shape(rounds, rows, ctx=60), range(1), Registry(random.Random(seed)))[0]


def request_of(messages: list[Message], **fields: Any) -> ChatRequest:
    body = {"model": MODEL, "messages": messages, "tools": list(TOOLS), **fields}
    return parse_request(json.dumps(body).encode(), MODEL)


def histories(script: Script) -> Iterator[tuple[list[Message], str, Mapping[str, Any]]]:
    """Each turn's messages, and the call that is right: name and arguments."""
    messages = [system_message(script)]
    for number, record in enumerate(script.records, 1):
        messages = [*messages, round_message(script, number)]
        fetch = {"key": record.key}
        yield messages, "fetch_record", fetch
        messages = [*messages, _called("fetch_record", fetch), fetch_answer(record, "call_0")]
        store = {"key": record.key, "rows": list(record.rows)}
        yield messages, "store_record", store
        messages = [*messages, _called("store_record", store), store_answer(record, "call_0")]
    yield [*messages, finish_message(script)], "finish", {"code": script.code}


def tokens_of(language: Language, request: ChatRequest, limit: int = 2000) -> list[int]:
    return plan_tokens(request, language, limit)


def say(language: Language, request: ChatRequest, plan: list[int], *, limit: int = 2000) -> bytes:
    """The whole response body to a plan, one token a flush."""

    async def run() -> bytes:
        said: list[bytes] = []
        speaker = Speaker(request, language.tokenizer, Prefilled(10, 0), id="chatcmpl-1", model=MODEL)
        sequence = Sequence(list(plan), speaker, _into(said), limit=limit, ignore_eos=request.ignore_eos)
        while not sequence.ended:
            sequence.decode()
            sequence.flush()
        assert await sequence.done
        return b"".join(said)

    return asyncio.run(run())


def answered(language: Language, request: ChatRequest, *, limit: int = 2000) -> bytes:
    return say(language, request, tokens_of(language, request, limit), limit=limit)


def without_end(ids: list[int]) -> list[int]:
    return [token for token in ids if token != EOS]


def _into(said: list[bytes]) -> Any:
    def send(piece: bytes) -> bool:
        said.append(piece)
        return True

    return send


def _called(name: str, arguments: Mapping[str, Any]) -> Message:
    return assistant_message("", [("call_0", name, json.dumps(arguments))])
