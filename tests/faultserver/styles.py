"""Correct servers with habits: every style here says the right thing, and must never raise an alarm."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.faultserver.reply import Event, Plan, encoded, events_of, pieces

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence

    Style = Callable[[Plan, random.Random], bytes]


def plain(plan: Plan, rng: random.Random) -> bytes:
    return encoded(events_of(plan))


def merged_chunks(plan: Plan, rng: random.Random) -> bytes:
    """Several tokens an event."""
    return encoded(events_of(replace(plan, arguments=pieces(plan.text, rng.randint(20, 60)))))


def one_event(plan: Plan, rng: random.Random) -> bytes:
    """The whole call in one event, as servers do that parse tool calls only at the end."""
    events = events_of(replace(plan, arguments=(plan.text,)))
    first, second = (event["choices"][0]["delta"]["tool_calls"][0] for event in _calls(events))
    first["function"]["arguments"] = second["function"]["arguments"]
    return encoded([event for event in events if event is not _calls(events)[1]])


def split_chunks(plan: Plan, rng: random.Random) -> bytes:
    """One character an event."""
    return encoded(events_of(replace(plan, arguments=pieces(plan.text, 1))))


def without_usage(plan: Plan, rng: random.Random) -> bytes:
    return encoded(events_of(plan, usage=False))


def usage_in_every_event(plan: Plan, rng: random.Random) -> bytes:
    events = events_of(plan)
    return encoded([{**event, "usage": events[-1]["usage"]} for event in events])


def reasoning_first(plan: Plan, rng: random.Random) -> bytes:
    thought = f"The user wants me to call {plan.name}. I copy the rows exactly, in order. "
    return encoded(events_of(replace(plan, reasoning=pieces(thought + plan.text, 5))))


def reasoning_by_its_other_name(plan: Plan, rng: random.Random) -> bytes:
    return reasoning_first(plan, rng).replace(b'"reasoning_content"', b'"reasoning"')


def chinese_before_the_call(plan: Plan, rng: random.Random) -> bytes:
    return encoded(
        events_of(replace(plan, content=pieces("好的，我现在用 store_record 工具保存这些行，完成。", 2)))
    )


def words_before_the_call(plan: Plan, rng: random.Random) -> bytes:
    return encoded(
        events_of(replace(plan, content=pieces("I will call the tool now. | done | - * #\n----------", 4)))
    )


def odd_index(plan: Plan, rng: random.Random) -> bytes:
    """The only call has another index than 0."""
    events = events_of(plan)
    for event in _calls(events):
        event["choices"][0]["delta"]["tool_calls"][0]["index"] = 3
    return encoded(events)


def without_index(plan: Plan, rng: random.Random) -> bytes:
    events = events_of(plan)
    for event in _calls(events):
        del event["choices"][0]["delta"]["tool_calls"][0]["index"]
    return encoded(events)


def without_id(plan: Plan, rng: random.Random) -> bytes:
    events = events_of(plan)
    del _calls(events)[0]["choices"][0]["delta"]["tool_calls"][0]["id"]
    return encoded(events)


def everything_in_every_delta(plan: Plan, rng: random.Random) -> bytes:
    """Id, type and name repeated with every piece of the arguments."""
    events = events_of(plan)
    for event in _calls(events):
        call = event["choices"][0]["delta"]["tool_calls"][0]
        call.update(id=plan.call_id, type="function")
        call["function"]["name"] = plan.name
    return encoded(events)


def nulls_everywhere(plan: Plan, rng: random.Random) -> bytes:
    events = events_of(plan)
    for event in events:
        for choice in event["choices"]:
            absent = dict.fromkeys(("content", "reasoning_content", "tool_calls", "refusal"))
            choice["delta"] = {**absent, **choice["delta"]}
            choice.update(logprobs=None, matched_stop=None)
        event.setdefault("usage", None)
    return encoded(events)


def finish_says_stop(plan: Plan, rng: random.Random) -> bytes:
    return encoded(events_of(replace(plan, finish="stop")))


def keepalive_comments(plan: Plan, rng: random.Random) -> bytes:
    parts = encoded(events_of(plan)).split(b"\n\n")
    said = (part if rng.random() < 0.7 else b": keep-alive\n\n" + part for part in parts)
    return b": hello\n\n" + b"\n\n".join(said)


def crlf_and_bom(plan: Plan, rng: random.Random) -> bytes:
    return b"\xef\xbb\xbf" + encoded(events_of(plan)).replace(b"\n", b"\r\n")


def no_blank_after_the_colon(plan: Plan, rng: random.Random) -> bytes:
    return encoded(events_of(plan)).replace(b"data: ", b"data:")


def named_events_over_two_lines(plan: Plan, rng: random.Random) -> bytes:
    """An event type, and JSON cut at a blank into two data lines."""
    events = (json.dumps(event, indent=1) for event in events_of(plan))
    lines = (
        f"event: message\nid: {n}\n" + "\n".join(f"data: {line}" for line in event.split("\n"))
        for n, event in enumerate(events)
    )
    return "\n\n".join([*lines, "data: [DONE]", ""]).encode()


def rows_in_pretty_json(plan: Plan, rng: random.Random) -> bytes:
    return encoded(events_of(plan.with_text(json.dumps(json.loads(plan.text), indent=2))))


def arguments_in_another_order(plan: Plan, rng: random.Random) -> bytes:
    arguments = dict(reversed(list(json.loads(plan.text).items())))
    return encoded(events_of(plan.with_text(json.dumps(arguments, separators=(",", ":")))))


STYLES: dict[str, Style] = {
    style.__name__: style
    for style in (
        plain,
        merged_chunks,
        one_event,
        split_chunks,
        without_usage,
        usage_in_every_event,
        reasoning_first,
        reasoning_by_its_other_name,
        chinese_before_the_call,
        words_before_the_call,
        odd_index,
        without_index,
        without_id,
        everything_in_every_delta,
        nulls_everywhere,
        finish_says_stop,
        keepalive_comments,
        crlf_and_bom,
        no_blank_after_the_colon,
        named_events_over_two_lines,
        rows_in_pretty_json,
        arguments_in_another_order,
    )
}


def every_style(times: int) -> Iterator[tuple[str, Style]]:
    """The styles over and over, that many in all."""
    return itertools.islice(itertools.cycle(STYLES.items()), times)


def _calls(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event["choices"] and "tool_calls" in event["choices"][0]["delta"]]
