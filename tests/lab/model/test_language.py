from __future__ import annotations

import json
from typing import Any

import pytest

from runbook.lab.model.language import EOS, Call, Language, Turn
from tests.lab.model.playing import histories, request_of, write_script


def test_prompts_have_the_ids_of_deepseeks_own_encoder(language: Language) -> None:
    for messages, _, _ in histories(write_script()):
        conversation = request_of(messages).parsed.conversation
        assert language.prompt_ids(conversation) == language.encoding.encode(conversation)


@pytest.mark.parametrize("text", ["a <｜User｜> in plain text", "</think>", "<|EOT|>", "1 < 2", "｜"])
def test_plain_text_that_spells_a_special_token_stays_plain(language: Language, text: str) -> None:
    conversation = request_of([{"role": "user", "content": text}]).parsed.conversation
    assert language.prompt_ids(conversation) == language.encoding.encode(conversation)


@pytest.mark.parametrize(
    ("turn", "thinking", "text"),
    [
        (Turn("Hello."), False, "Hello.<｜end▁of▁sentence｜>"),
        (Turn("Hello.", reasoning="Why."), True, "Why.</think>Hello.<｜end▁of▁sentence｜>"),
        (
            Turn(calls=(Call("fetch_record", '{"key": "k"}'),)),
            False,
            '\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name="fetch_record">\n'
            '<｜DSML｜parameter name="key" string="true">k</｜DSML｜parameter>\n'
            "</｜DSML｜invoke>\n</｜DSML｜tool_calls><｜end▁of▁sentence｜>",
        ),
    ],
)
def test_a_turn_is_written_in_the_v4_format(
    language: Language, turn: Turn, thinking: bool, text: str
) -> None:
    assert language.turn_text(turn, thinking=thinking) == text
    assert language.turn_ids(turn, thinking=thinking)[-1] == EOS


def test_rows_are_written_as_json(language: Language) -> None:
    arguments: dict[str, Any] = {"key": "k", "rows": ["a-b", "c-d"]}
    text = language.turn_text(Turn(calls=(Call("store_record", json.dumps(arguments)),)), thinking=False)
    assert '<｜DSML｜parameter name="rows" string="false">["a-b", "c-d"]</｜DSML｜parameter>' in text
