"""The scripted model: what a model that makes no mistake calls next, worked out from the messages alone.

Stand-in servers play it. The judge never does: it compares with the session's script.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_KEY = re.compile(r"The key is ([a-z-]+)\.")
_STORED = re.compile(r"\d+ rows stored\.")


def right_call(messages: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, Any]] | None:
    """Name and arguments of the next right tool call; None where the messages are not a session's.

    Message contents are strings, or the list of text parts that some routers make of them.
    """
    last = messages[-1] if messages else {}
    text = text_of(last)
    key = _last_key(messages)
    if key is None:
        return None
    if last.get("role") == "tool" and not _STORED.fullmatch(text):
        return "store_record", {"key": key, "rows": text.split("\n")}
    if last.get("role") == "user" and _KEY.search(text):
        return "fetch_record", {"key": key}
    if last.get("role") == "user":
        return _finish(messages)
    return None


def text_of(message: Mapping[str, Any]) -> str:
    """A message's text."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _last_key(messages: Sequence[Mapping[str, Any]]) -> str | None:
    for message in reversed(messages):
        if message.get("role") == "user" and (found := _KEY.search(text_of(message))):
            return found[1]
    return None


def _finish(messages: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, Any]] | None:
    answers = [text for text in map(text_of, _tool_messages(messages)) if not _STORED.fullmatch(text)]
    if not answers:
        return None
    return "finish", {"code": f"{answers[0].split(chr(10))[0]}-{answers[-1].split(chr(10))[-1]}"}


def _tool_messages(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [message for message in messages if message.get("role") == "tool"]
