from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runbook.lab.model.race import DAMAGES
from runbook.load.assembly import assemble
from tests.lab.model.playing import answered, histories, request_of, say, tokens_of, without_end, write_script

if TYPE_CHECKING:
    from runbook.lab.model.language import Language

CHAT = [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize("thinking", [False, True])
def test_a_clean_stream_reads_back_as_the_calls_the_model_made(language: Language, thinking: bool) -> None:
    for messages, name, arguments in histories(write_script()):
        request = request_of(messages, stream=True, chat_template_kwargs={"thinking": thinking})
        reply = assemble(answered(language, request))
        (call,) = reply.calls
        assert (call.name, json.loads(call.arguments.text)) == (name, arguments)
        assert (reply.finish_reason, reply.done, reply.problems) == ("tool_calls", True, ())
        assert bool(reply.reasoning.text) is thinking
        assert reply.content.text == ""


def test_usage_comes_only_where_it_was_asked_for_and_counts_every_token(language: Language) -> None:
    asked = request_of(CHAT, stream=True, stream_options={"include_usage": True})
    usage = assemble(answered(language, asked)).usage
    assert usage is not None
    assert usage["completion_tokens"] == len(without_end(tokens_of(language, asked)))
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"]
    assert assemble(answered(language, request_of(CHAT, stream=True))).usage is None


def test_a_response_without_stream_is_one_document(language: Language) -> None:
    messages, name, arguments = next(histories(write_script()))
    document = json.loads(answered(language, request_of(messages)))
    (call,) = document["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == (name, arguments)
    assert document["choices"][0]["finish_reason"] == "tool_calls"
    assert document["usage"]["prompt_tokens"] == 10


def test_an_answer_stops_at_its_limit(language: Language) -> None:
    reply = assemble(answered(language, request_of(CHAT, stream=True, tools=[]), limit=8))
    assert reply.finish_reason == "length"


def test_ignore_eos_speaks_up_to_the_limit(language: Language) -> None:
    fields = {"stream": True, "ignore_eos": True, "stream_options": {"include_usage": True}}
    reply = assemble(answered(language, request_of(CHAT, **fields), limit=1500))
    assert (reply.completion_tokens, reply.finish_reason) == (1500, "length")


def test_a_stop_sequence_ends_the_answer(language: Language) -> None:
    reply = assemble(answered(language, request_of(CHAT, stream=True, stop=["."])))
    assert reply.finish_reason == "stop"
    assert "." not in reply.content.text


def test_a_token_zero_in_the_plan_reaches_the_client(language: Language) -> None:
    messages, _, _ = list(histories(write_script()))[1]
    request = request_of(messages, stream=True)
    plan = tokens_of(language, request)
    reply = assemble(say(language, request, [*plan[:60], 0, 0, *plan[62:]]))
    assert reply.calls[0].arguments.text.count("<｜begin▁of▁sentence｜>") == 2


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_no_damage_makes_the_parser_fail(language: Language, seed: int, strikes: int) -> None:
    messages, _, _ = list(histories(write_script(rounds=1)))[1]
    request = request_of(messages, stream=True)
    plan, chosen = tokens_of(language, request), random.Random(seed)
    for _ in range(strikes):
        damage = chosen.choice(DAMAGES)
        damage(plan, plan[::-1], chosen.randrange(len(plan)), chosen).apply(plan)
    assert b"[DONE]" in say(language, request, plan)
