"""One agent session: its turns one after the other, each judged before the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load import prompts
from runbook.load.exchange import parse_arguments, turns

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from runbook.load.exchange import Answer, Turn
    from runbook.load.judgement import Judgement
    from runbook.load.prompts import Message
    from runbook.load.script import Script
    from runbook.load.story import Record, Story

    Ask = Callable[[Sequence[Message]], Awaitable[Answer]]
    JudgeTurn = Callable[[Script, Turn, Answer], Awaitable[Judgement]]


async def play(script: Script, story: Story, ask: Ask, judge: JudgeTurn) -> Record:
    """Play the script against `ask` until a judgement ends it; the story is told turn by turn."""
    messages = [prompts.system_message(script)]
    for turn in turns(script):
        messages.extend(request(script, turn))
        answer = await ask(messages)
        judgement = await judge(script, turn, answer)
        story.add(turn, answer, judgement)
        if judgement.end is not None:
            return story.ended(judgement.end, corrupt=judgement.corrupt, detail=judgement.detail)
        messages.extend(history(script, judgement))
    raise AssertionError("the last turn ends a session")


def request(script: Script, turn: Turn) -> list[Message]:
    """What the user says before a turn; nothing between the two calls of a round."""
    if turn.name == "fetch_record":
        return [prompts.round_message(script, turn.round)]
    return [prompts.finish_message(script)] if turn.name == "finish" else []


def history(script: Script, judgement: Judgement) -> list[Message]:
    """What a turn adds to the conversation: the model's call, and our tool's answer.

    Arguments that are no JSON object are replaced by the right ones: chat templates parse them, and the 400 of
    the next turn would say nothing about the server.
    """
    turn, reply = judgement.turn, judgement.reply
    call = reply.calls[0]
    call_id = _sendable(call.id or f"call_{turn.number}")
    arguments = call.arguments.text
    try:
        parse_arguments(arguments)
    except ValueError:
        arguments = prompts.as_json(turn.arguments)
    called = [(call_id, turn.name, _sendable(arguments))]
    said = prompts.assistant_message(_sendable(reply.content.text), called)
    answer = prompts.fetch_answer if turn.name == "fetch_record" else prompts.store_answer
    return [said, answer(script.records[turn.round - 1], call_id)]


def _sendable(text: str) -> str:
    """The text with pairs of surrogates as the character they are, and replacements for lone ones: UTF-8 has neither."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
