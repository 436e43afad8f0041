from __future__ import annotations

import json

import pytest

from runbook.load.assembly import MOST_CALLS, MOST_PROBLEMS, assemble


def stream(*events: object, done: bool = True) -> bytes:
    lines = [event if isinstance(event, bytes) else json.dumps(event).encode() for event in events]
    return b"".join(b"data: " + line + b"\n\n" for line in [*lines, *([b"[DONE]"] if done else [])])


def delta(finish: str | None = None, **parts: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": parts, "finish_reason": finish}]}


def call(
    index: object, arguments: str = "", *, function: dict[str, str] | None = None, **more: object
) -> dict[str, object]:
    part = {"index": index, "function": {"arguments": arguments, **(function or {})}, **more}
    return delta(tool_calls=[part])


def test_channels_are_joined_and_remember_their_offsets() -> None:
    raw = stream(delta(content="Hel"), delta(reasoning_content="hm"), delta(content="lo"), delta("stop"))
    reply = assemble(raw)
    assert (reply.content.text, reply.reasoning.text, reply.finish_reason, reply.done) == (
        "Hello",
        "hm",
        "stop",
        True,
    )
    assert raw[reply.content.offset(4) :].startswith(
        b'data: {"choices": [{"index": 0, "delta": {"content": "lo"}'
    )
    assert reply.chunks == 3
    assert reply.content.offset(0) == 0
    assert reply.reasoning.offset(99) > 0


def test_a_call_is_put_together_by_its_index() -> None:
    raw = stream(
        call(0, id="a", function={"name": "f"}), call(0, '{"x":'), call(0, " 1}"), delta("tool_calls")
    )
    (one,) = assemble(raw).calls
    assert (one.index, one.id, one.name, one.arguments.text) == (0, "a", "f", '{"x": 1}')


def test_two_calls_out_of_order_stay_apart() -> None:
    raw = stream(call(1, "b", id="1"), call(0, "a", id="0"), call(1, "B"), call(0, "A"))
    assert [(one.id, one.arguments.text) for one in assemble(raw).calls] == [("0", "aA"), ("1", "bB")]


def test_a_second_id_at_one_index_is_a_problem_and_no_new_call() -> None:
    reply = assemble(stream(call(0, "{", id="a"), call(0, "}", id="b")))
    assert len(reply.calls) == 1
    assert [problem.kind for problem in reply.problems] == ["merged"]


def test_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    raw = stream(
        call(None, "a", id="x"),
        call(None, "b"),
        call(None, "c", id="y"),
        call(None, "d"),
        call(None, "e", id="x"),
    )
    assert [one.arguments.text for one in assemble(raw).calls] == ["abe", "cd"]


def test_nothing_is_made_up_for_an_empty_stream() -> None:
    reply = assemble(b"")
    assert (reply.finish_reason, reply.done, reply.usage, reply.calls, reply.error) == (
        None,
        False,
        None,
        (),
        None,
    )
    assert reply.content.offset(0) == -1


@pytest.mark.parametrize("bad", [b"{", b"[1]", b'"x"', b"[" * 100_000])
def test_an_event_that_is_no_json_object_is_a_cut_event(bad: bytes) -> None:
    assert [problem.kind for problem in assemble(stream(bad, delta("stop"))).problems] == ["truncated"]


def test_two_finish_reasons_are_a_problem() -> None:
    assert [problem.kind for problem in assemble(stream(delta("stop"), delta("length"))).problems] == [
        "badfinish"
    ]


def test_an_event_after_the_end_and_a_second_choice_are_merged_responses() -> None:
    late = assemble(stream(delta("stop")) + stream(delta(content="more")))
    second = assemble(stream({"choices": [{"index": 1, "delta": {"content": "x"}}]}))
    assert [problem.kind for problem in (*late.problems, *second.problems)] == ["merged", "merged"]


@pytest.mark.parametrize(
    "error", [{"error": {"message": "boom"}}, {"object": "error", "message": "boom"}, {"error": "boom"}]
)
def test_an_error_in_the_stream_is_kept(error: dict[str, object]) -> None:
    assert "boom" in (assemble(stream(delta(content="x"), error)).error or "")


def test_usage_and_the_matched_stop_are_kept() -> None:
    stop = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "matched_stop": "NaN happened"}]}
    reply = assemble(stream(stop, {"choices": [], "usage": {"completion_tokens": 3}}))
    assert (reply.completion_tokens, reply.matched_stop) == (3, "NaN happened")


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"choices": None},
        {"choices": [None, 3]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"tool_calls": [None], "content": None}}]},
        {"choices": [{"delta": {"tool_calls": [{"function": None, "index": 0}]}}]},
        {"usage": 3},
        {"choices": {}},
    ],
)
def test_odd_shapes_are_survived(odd: dict[str, object]) -> None:
    assert assemble(stream(odd, delta("stop"))).finish_reason == "stop"


def test_arguments_given_as_an_object_become_its_text() -> None:
    raw = stream(
        delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": 1}}}])
    )
    assert assemble(raw).calls[0].arguments.text == '{"x": 1}'


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    assert (
        "\ufffd"
        in assemble(b'data: {"choices": [{"index": 0, "delta": {"content": "\xff"}}]}\n\n').content.text
    )


def test_what_was_said_before_a_line_without_end_is_kept() -> None:
    reply = assemble(stream(delta(content="so far"), done=False) + b"data: " + b"x" * (1 << 21))
    assert reply.content.text == "so far"
    assert [problem.kind for problem in reply.problems] == ["truncated"]


def test_calls_and_problems_without_number_are_bounded() -> None:
    reply = assemble(stream(*(call(None, "x", id=str(number)) for number in range(5000)), *[b"{"] * 5000))
    assert len(reply.calls) == MOST_CALLS
    assert len(reply.problems) == MOST_PROBLEMS
    assert reply.problems[0].message == "more than 100 calls"
