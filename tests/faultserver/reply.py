"""A right reply in the making: the events of its stream as JSON values, to be damaged or styled before they are sent."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """What the model says: text pieces, and its call's arguments in pieces of about a token."""

    name: str | None
    arguments: tuple[str, ...]
    content: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    finish: str = "tool_calls"
    call_id: str = "call_1"
    prompt_tokens: int = 400

    @property
    def text(self) -> str:
        """The arguments as one text."""
        return "".join(self.arguments)

    @property
    def completion_tokens(self) -> int:
        """What DeepSeek's tokenizer would count, about: it does not depend on how the text is cut into events."""
        return len("".join((*self.arguments, *self.content, *self.reasoning))) // 2 + 4

    def with_text(self, text: str) -> Plan:
        """The same call with other arguments."""
        return replace(self, arguments=pieces(text))


def pieces(text: str, width: int = 3) -> tuple[str, ...]:
    """Text cut as a tokenizer would, about."""
    return tuple(text[at : at + width] for at in range(0, len(text), width))


def plan_of(name: str, arguments: dict[str, Any], rng: random.Random) -> Plan:
    """The right reply for a call."""
    return Plan(name, pieces(json.dumps(arguments)), call_id=f"call_{rng.getrandbits(64):016x}")


def events_of(plan: Plan, *, usage: bool = True) -> list[Event]:
    """The events of the reply: role, reasoning, content, the call, the finish reason, the usage."""
    events = [_chunk({"role": "assistant", "content": ""})]
    events += [_chunk({"reasoning_content": piece}) for piece in plan.reasoning]
    events += [_chunk({"content": piece}) for piece in plan.content]
    if plan.name is not None:
        events.append(_chunk({"tool_calls": [_call(0, plan.call_id, plan.name, "")]}))
        events += [_chunk({"tool_calls": [_arguments(0, piece)]}) for piece in plan.arguments]
    events.append(_chunk({}, plan.finish))
    if usage:
        events.append(
            {**_envelope(), "choices": [], "usage": usage_of(plan.prompt_tokens, plan.completion_tokens)}
        )
    return events


def usage_of(prompt: int, completion: int) -> Event:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def encoded(events: Sequence[Event], *, done: bool = True) -> bytes:
    """The events as an event stream."""
    data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    return data + b"data: [DONE]\n\n" if done else data


def _envelope() -> Event:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def _chunk(delta: Event, finish: str | None = None) -> Event:
    return {**_envelope(), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _call(index: int, call_id: str, name: str, arguments: str) -> Event:
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": call_id, "type": "function", "function": function}


def _arguments(index: int, piece: str) -> Event:
    return {"index": index, "function": {"arguments": piece}}
