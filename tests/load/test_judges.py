"""What single judges take for a defect, and what they leave alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runbook.load.assembly import Channel
from runbook.load.judges.badusage import impossible
from runbook.load.judges.duplicate import resent_at, stuttered_at
from runbook.load.judges.flood import repeated_at
from runbook.load.judges.garbled import garbled_at
from runbook.load.judges.loop import compressed, repeated_words
from runbook.load.judges.merged import second_value_at
from tests.faultserver.damage import BOS
from tests.faultserver.inprocess import right, table
from tests.faultserver.reply import encoded, events_of, pieces, usage_of


def channel(*parts: str) -> Channel:
    starts = [sum(map(len, parts[:count])) for count in range(len(parts))]
    return Channel("content", "".join(parts), tuple(starts), tuple(range(len(parts))))


@pytest.mark.parametrize("unit", ["!", "the", "\u4e00", "ab!\n", "0"])
def test_a_unit_that_fills_a_window_is_a_flood(unit: str) -> None:
    assert repeated_at("Well then. " + unit * 64) == 11
    assert repeated_at(unit * 24) == 0


@pytest.mark.parametrize(
    "text",
    ["-" * 200, "=" * 80, "* " * 60, "#" * 70, " " * 300, "_" * 90, "!!!", "!" * 23, "a" * 30 + "b" * 40],
)
def test_rules_blanks_and_short_runs_are_no_flood(text: str) -> None:
    assert repeated_at(text) is None


@pytest.mark.parametrize("text", ["приvет", "I stоre it", "привет नमस्ते สวัสดี", "γειά سلام 你好"])
def test_a_jumble_of_writing_systems_is_garbled(text: str) -> None:
    assert garbled_at(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "我用store_record工具保存。",
        "こんにちは、カタカナと漢字。",
        "привет, мир",
        "naïve café Ångström µm ½ ™",
        "привет" + " x " * 90 + "नमस्ते" + " x " * 90 + "สวัสดี",
        "🎉 done ✅ → ok",
    ],
)
def test_other_languages_alone_are_not_garbled(text: str) -> None:
    assert garbled_at(text) is None


def test_the_same_eight_words_six_times_are_a_loop() -> None:
    assert repeated_words("one two three four five six seven eight. " * 6)
    assert not repeated_words("one two three four five six seven eight. " * 5)
    assert not repeated_words("a short text")


def test_long_text_that_compresses_to_nothing_is_a_loop() -> None:
    assert compressed("abcdefghij" * 100)
    assert not compressed("abcdefghij" * 10)


def test_chunks_sent_twice_are_a_duplicate_and_a_loop_is_none() -> None:
    text = "Once upon a time there was a stream of chunks, "
    assert resent_at(channel("So. ", text, text, "and so on")) == 51
    assert resent_at(channel("So. ", text[:20], text[20:], text[:20], text[20:])) == 51
    assert resent_at(channel("So. ", text, text, text)) is None
    assert resent_at(channel("So. " + text + text)) is None
    assert (
        resent_at(channel(*pieces("no two parts of this sentence are the same, whatever one does", 4)))
        is None
    )


def test_chunk_after_chunk_sent_twice_is_a_duplicate() -> None:
    said = pieces("I store the rows of this record now, all of them, one after the other.", 3)
    twice = [piece for piece in said for _ in range(2)]
    assert stuttered_at(channel(*twice)) == 0
    assert stuttered_at(channel("Well, ", *twice, "done")) == 6
    assert stuttered_at(channel(*said)) is None
    assert stuttered_at(channel(*twice[:20], "or ", *twice[20:36])) is None
    assert stuttered_at(channel(*["--"] * 200)) is None
    assert stuttered_at(channel()) is None


PROSE = "The user wants me to store the rows of this record, and I do that now without a further word. " * 3


@pytest.mark.parametrize(
    ("content", "tokens", "kinds"),
    [
        (PROSE, 72, []),
        (PROSE, 40, []),
        (PROSE, 20, ["duplicate"]),
        ("-" * 4000, 60, []),
        (" " * 4000, 60, []),
    ],
)
def test_more_text_than_the_tokens_can_carry_is_a_duplicate(
    content: str, tokens: int, kinds: list[str]
) -> None:
    cards = table(1, sessions=1, rounds=1, rows=3)

    def answering(script, turn, plan):  # type: ignore[no-untyped-def]
        if turn.name != "fetch_record":
            return right(script, turn, plan)
        events = events_of(replace(plan, content=(content,)))
        return encoded([*events[:-1], {**events[-1], "usage": usage_of(400, tokens)}])

    record = cards.play(cards.scripts[0], answering)
    assert [seen.defect.kind for seen in record.seen] == kinds


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ('{"a": 1}{"a": 1}', 8),
        ('{"a": 1} {"b"', 9),
        ('{"a": 1}', None),
        ('{"a": 1}}', None),
        ('{"a', None),
        ("", None),
    ],
)
def test_a_second_json_value_is_found_where_it_begins(text: str, at: int | None) -> None:
    assert second_value_at(text) == at


@pytest.mark.parametrize(
    ("usage", "wrong"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}, 0),
        ({"completion_tokens": 100}, 0),
        ({"prompt_tokens": 5, "completion_tokens": None, "total_tokens": 12}, 0),
        ({}, 0),
        ({"completion_tokens": 101}, 1),
        ({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 13}, 1),
        ({"completion_tokens": "7"}, 1),
        ({"completion_tokens": True}, 1),
        ({"completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 8}}, 1),
        ({"completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 7}}, 0),
        # Some servers count reasoning beside the completion, not in it.
        ({"prompt_tokens": 4, "completion_tokens": 7, "total_tokens": 20, "reasoning_tokens": 9}, 0),
        ({"prompt_tokens": 4, "completion_tokens": 7, "total_tokens": 21, "reasoning_tokens": 9}, 1),
        ({"completion_tokens": 7, "completion_tokens_details": None, "reasoning_tokens": 0}, 0),
    ],
)
def test_counts_that_cannot_be_are_told(usage: dict[str, object], wrong: int) -> None:
    assert len(list(impossible(usage, 100))) == wrong


def seen_with(content: str, reasoning: str = "") -> list[tuple[str, str]]:
    """Defects (kind, severity) of a right session that says this before its first call."""
    cards = table(1, sessions=1, rounds=1, rows=3)

    def answering(script, turn, plan):  # type: ignore[no-untyped-def]
        if turn.name != "fetch_record":
            return right(script, turn, plan)
        return encoded(events_of(replace(plan, content=pieces(content), reasoning=pieces(reasoning))))

    record = cards.play(cards.scripts[0], answering)
    return [(seen.defect.kind, seen.defect.severity.value) for seen in record.seen]


@pytest.mark.parametrize(
    "marker",
    [
        "<｜DSML｜tool_calls>",
        "<｜tool▁calls▁begin｜>",
        "<|tool_call|>",
        "<tool_call>",
        "</think>",
        "<think>",
        "dsml",
        'invoke name="x"',
        "<｜User｜>",
        "｜Assistant",
        "tool▁sep",
        "<nonsensetool_calls>",
        "[TOOL_CALLS]",
    ],
)
def test_markers_in_the_text_are_a_leak(marker: str) -> None:
    assert seen_with(f"So {marker} then") == [("leak", "hard")]


@pytest.mark.parametrize(
    "text",
    ["I think so", "call the tool", "a < b > c", "|a|b|", "user: me", "the tool_calls field", "x｜y"[:1]],
)
def test_ordinary_text_is_no_leak(text: str) -> None:
    assert seen_with(text) == []


def test_a_bare_bar_is_chinese_punctuation_and_only_soft() -> None:
    assert seen_with("第一行｜第二行") == [("leak", "soft")]


def test_a_model_may_think_about_its_syntax_but_not_in_deepseeks_characters() -> None:
    assert seen_with("", reasoning="I could write <tool_call> or </think> here") == []
    assert seen_with("", reasoning="then <｜DSML｜invoke>") == [("leak", "hard")]


def test_a_begin_token_as_text_is_a_flood_first() -> None:
    assert seen_with(f"Well {BOS} well")[0] == ("flood", "hard")
