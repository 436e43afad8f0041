"""A chat server that streams at exactly known times and keeps its own log. Standard library only.

`python -m tests.load.bench.standin SCENARIO` serves one of SCENARIOS on a free loopback port, which it prints.
`GET /log` answers with what it did, in seconds of `time.perf_counter()`, which two processes of one machine share.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping


@dataclass(frozen=True)
class Step:
    """One write: `after_s` seconds since the one before, `deltas` become one event each, all in this write."""

    after_s: float
    deltas: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Script:
    """One answer. `tokens` is what usage will say; `end` is how it ends: done, cut, error."""

    steps: tuple[Step, ...]
    tokens: int
    status: int = 200
    end: str = "done"
    finish: str = "stop"
    cached: int | None = None
    usage: bool = True


@dataclass
class Entry:
    """What was done for one request; `writes` are (moment before the write, content events in it)."""

    nonce: str
    received: float
    prompt_tokens: int
    tokens: int
    status: int
    end: str
    writes: list[tuple[float, int]] = field(default_factory=list)
    ended: float = 0.0


@dataclass
class StandIn:
    """Serves scripts: `script(index, request)` gives the answer of the index-th request.

    `extra` adds GET paths, with a text or what makes one of the log; within `stalls` (from, to; seconds since the first
    request) nothing is written; `key` is the API key it wants.
    """

    script: Callable[[int, Mapping[str, Any]], Script]
    extra: Mapping[str, str | Callable[[list[Entry]], str]] = field(default_factory=dict)
    stalls: tuple[tuple[float, float], ...] = ()
    key: str | None = None
    log: list[Entry] = field(default_factory=list)
    first: float = 0.0

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """The base URL while it serves."""
        tasks: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._connection(reader, writer))
            tasks.add(task)
            await task

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._request(reader, writer):
                pass
        writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, _ = head.split("\r\n")[0].split(" ")
        headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        keep = headers.get("connection") != "close"
        if method == "GET":
            return await self._get(path, writer) and keep
        if self.key is not None and headers.get("authorization") != f"bearer {self.key}".lower():
            return await _answer(writer, 401, '{"error": "no such key"}') and keep
        return await self._chat(json.loads(body), writer) and keep

    async def _get(self, path: str, writer: asyncio.StreamWriter) -> bool:
        if path == "/log":
            return await _answer(writer, 200, json.dumps([asdict(entry) for entry in self.log]))
        found = self.extra.get(path)
        found = found(self.log) if callable(found) else found
        return await _answer(writer, 200 if found is not None else 404, found or "")

    async def _chat(self, request: Mapping[str, Any], writer: asyncio.StreamWriter) -> bool:
        received = time.perf_counter()
        self.first = self.first or received
        script = self.script(len(self.log), request)
        prompt = str(request["messages"][-1]["content"])
        words = len(prompt.split())
        entry = Entry(prompt.split(":")[0], received, words, script.tokens, script.status, script.end)
        self.log.append(entry)
        if script.status != 200:
            return await _answer(writer, script.status, '{"error": "as scripted"}')
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        await self._stream(script, entry, writer)
        entry.ended = time.perf_counter()
        return script.end != "cut"

    async def _stream(self, script: Script, entry: Entry, writer: asyncio.StreamWriter) -> None:
        due = entry.received
        for step in script.steps:
            due += step.after_s
            await asyncio.sleep(max(0.0, self._released(due) - time.perf_counter()))
            chunk = _chunked(b"".join(_event({"choices": [{"index": 0, "delta": d}]}) for d in step.deltas))
            entry.writes.append((time.perf_counter(), sum(delta is not ROLE for delta in step.deltas)))
            writer.write(chunk)
            await writer.drain()
        if script.end == "cut":
            return
        writer.write(_chunked(b"".join(_tail(script, entry))) + b"0\r\n\r\n")
        await writer.drain()

    def _released(self, due: float) -> float:
        """When a write that is due goes out: after the stall that holds it, if one does."""
        for begin, end in self.stalls:
            if begin <= due - self.first < end:
                return self.first + end
        return due


def _tail(script: Script, entry: Entry) -> list[bytes]:
    if script.end == "error":
        return [_event({"error": {"message": "as scripted"}})]
    cached = {} if script.cached is None else {"prompt_tokens_details": {"cached_tokens": script.cached}}
    usage = {"prompt_tokens": entry.prompt_tokens, "completion_tokens": script.tokens, **cached}
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": script.finish}]}
    counted = [_event({"choices": [], "usage": usage})] if script.usage else []
    return [_event(last), *counted, b"data: [DONE]\n\n"]


def _event(document: Mapping[str, Any]) -> bytes:
    whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "m", **document}
    return b"data: " + json.dumps(whole).encode() + b"\n\n"


def _chunked(body: bytes) -> bytes:
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


async def _answer(writer: asyncio.StreamWriter, status: int, body: str) -> bool:
    head = f"HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {len(body.encode())}\r\n\r\n"
    writer.write(head.encode() + body.encode())
    await writer.drain()
    return True


# ------------------------------------------------------------------ scenarios

WORD: Mapping[str, Any] = {"content": "word "}
THOUGHT: Mapping[str, Any] = {"content": "", "reasoning_content": "hm "}
TOOL: Mapping[str, Any] = {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}
ROLE: Mapping[str, Any] = {"role": "assistant", "content": ""}


def paced(
    first_s: float, every_s: float, deltas: list[Mapping[str, Any]], *, per_write: int = 1
) -> tuple[Step, ...]:
    """`deltas` in writes of `per_write`: the first after `first_s`, the others `every_s` apart."""
    groups = [tuple(deltas[at : at + per_write]) for at in range(0, len(deltas), per_write)]
    return tuple(Step(every_s if at else first_s, group) for at, group in enumerate(groups))


def plain(index: int, request: Mapping[str, Any]) -> Script:
    """A role event, then one token an event; as many as were asked for."""
    tokens = int(request.get("max_tokens", 40))
    return Script((Step(0.02, (ROLE,)), *paced(0.08, 0.01, [WORD] * tokens)), tokens, finish="length")


def quick(index: int, request: Mapping[str, Any]) -> Script:
    """As many tokens as were asked for, in a moment."""
    tokens = int(request.get("max_tokens", 8))
    return Script(paced(0.01, 0.005, [WORD] * tokens), tokens, finish="length")


def merged(index: int, request: Mapping[str, Any]) -> Script:
    return Script(paced(0.1, 0.03, [WORD] * 42, per_write=3), 42)


def fat(index: int, request: Mapping[str, Any]) -> Script:
    """Four tokens an event."""
    return Script(paced(0.1, 0.02, [WORD] * 25), 100)


def reasoning(index: int, request: Mapping[str, Any]) -> Script:
    return Script((Step(0.02, (ROLE,)), *paced(0.1, 0.01, [THOUGHT] * 15 + [WORD] * 15)), 30)


def tools(index: int, request: Mapping[str, Any]) -> Script:
    return Script((Step(0.02, (ROLE,)), *paced(0.1, 0.01, [TOOL] * 30)), 30, finish="tool_calls")


def slow_first(index: int, request: Mapping[str, Any]) -> Script:
    return Script(paced(0.6, 0.01, [WORD] * 20), 20)


def failing(index: int, request: Mapping[str, Any]) -> Script:
    """Of four requests one answers 503, one is cut, one breaks off with an error event, one is good."""
    steps = paced(0.1, 0.01, [WORD] * 20)
    return (
        Script(steps, 20),
        Script((), 0, status=503),
        Script(steps[:10], 10, end="cut"),
        Script(steps[:10], 10, end="error"),
    )[index % 4]


def stalled(index: int, request: Mapping[str, Any]) -> Script:
    """Every stream is silent for 0.5 s after its tenth token."""
    return Script((*paced(0.1, 0.01, [WORD] * 10), *paced(0.5, 0.01, [WORD] * 10)), 20)


def flood(index: int, request: Mapping[str, Any]) -> Script:
    """More events than one process can take."""
    return Script(paced(0.01, 0.0005, [WORD] * 400), 400)


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (plain, quick, merged, fat, reasoning, tools, slow_first, failing, stalled, flood)
}


async def serve(name: str) -> None:
    async with StandIn(SCENARIOS[name]).serving() as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # until our parent goes


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
