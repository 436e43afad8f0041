"""A second client, the openai package, reads the fault server's streams to the same calls."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from runbook.load import prompts
from runbook.load.assembly import assemble
from runbook.load.exchange import turns
from tests.faultserver.inprocess import table
from tests.faultserver.reply import plan_of
from tests.faultserver.server import Behaviour, FaultServer
from tests.faultserver.styles import STYLES

pytestmark = pytest.mark.real

# The openai package wants an index with every call.
NEEDS_AN_INDEX = {"without_index"}
# It knows no call before its first delta has the id.
NEEDS_AN_ID = {"without_id"}


@pytest.fixture
def openai() -> Any:
    return pytest.importorskip("openai", reason="the openai package is not installed")


async def calls_by_openai(openai: Any, url: str, messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    parts: dict[int, list[str]] = {}
    stream = await client.chat.completions.create(
        model="m", messages=messages, tools=list(prompts.TOOLS), stream=True
    )
    async for chunk in stream:
        for choice in chunk.choices:
            for call in choice.delta.tool_calls or ():
                names, arguments = parts.setdefault(call.index, ["", ""])
                name = names or call.function.name or ""
                parts[call.index] = [name, arguments + (call.function.arguments or "")]
    await client.close()
    return [(name, arguments) for name, arguments in parts.values()]


@pytest.mark.parametrize("name", sorted(STYLES.keys() - NEEDS_AN_INDEX - NEEDS_AN_ID))
def test_two_clients_read_the_same_calls(openai: Any, name: str) -> None:
    cards = table(1, sessions=1, rounds=1, rows=6)
    script = cards.scripts[0]
    turn = turns(script)[0]
    stream = STYLES[name](plan_of(turn.name, dict(turn.arguments), cards.rng), random.Random(1))
    ours = [(call.name, call.arguments.text) for call in assemble(stream).calls]

    async def body() -> list[tuple[str, str]]:
        async with FaultServer(lambda request: Behaviour(stream=stream)).serving() as server:
            messages = [prompts.system_message(script), prompts.round_message(script, 1)]
            return await calls_by_openai(openai, server.url, messages)

    assert asyncio.run(body()) == ours
