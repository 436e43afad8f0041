from __future__ import annotations

import json
from typing import Any

import pytest

from runbook.lab.model.scenario import answer
from tests.lab.model.playing import histories, request_of, write_script

CHAT: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]


def test_the_model_makes_the_right_call_in_every_turn_of_a_session() -> None:
    for messages, name, arguments in histories(write_script(rounds=3)):
        (call,) = answer(request_of(messages)).calls
        assert (call.name, json.loads(call.arguments)) == (name, arguments)


def test_text_parts_mean_the_same_as_a_string() -> None:
    messages, name, _ = next(histories(write_script()))
    parts = [{**message, "content": [{"type": "text", "text": message["content"]}]} for message in messages]
    assert answer(request_of(parts)).calls[0].name == name


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": []},
        {"tool_choice": "none"},
        {"tools": [{"type": "function", "function": {"name": "other"}}]},
    ],
)
def test_a_call_that_is_not_offered_is_not_made(fields: dict[str, Any]) -> None:
    messages, _, _ = next(histories(write_script()))
    turn = answer(request_of(messages, **fields))
    assert not turn.calls
    assert turn.content


def test_chat_is_always_the_same_for_the_same_messages_and_differs_for_others() -> None:
    other = [{"role": "user", "content": "good morning"}]
    assert answer(request_of(CHAT)) == answer(request_of(CHAT))
    assert answer(request_of(CHAT)) != answer(request_of(other))
