"""What the model says: the right tool call of an agent session, else ordinary chat."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from typing import TYPE_CHECKING, Any

from runbook.lab.model.language import Call, Turn
from runbook.load.player import right_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runbook.lab.model.request import ChatRequest

_SUBJECTS = ("The engine", "A request", "The scheduler", "Every batch", "The cache", "A page", "The router")
_VERBS = ("waits for", "returns to", "measures", "keeps", "releases", "answers", "follows", "reads")
_OBJECTS = (
    "the next step",
    "its own prompt",
    "a shorter queue",
    "the first token",
    "a warm prefix",
    "the log",
)
_ENDINGS = (
    "before it starts",
    "while others run",
    "without a pause",
    "as it should",
    "on every host",
    "in turn",
)
_SENTENCES = 60


def answer(request: ChatRequest) -> Turn:
    """The turn that follows the request's messages."""
    call = right_call(request.messages) if request.tool_choice != "none" else None
    if call is None or call[0] not in _offered(request.tools):
        return Turn(
            " ".join(itertools.islice(sentences(request.messages), _SENTENCES)), reasoning=_REASONING_CHAT
        )
    name, arguments = call
    return Turn(
        calls=(Call(name, json.dumps(arguments, ensure_ascii=False)),), reasoning=_REASONING_CALL.format(name)
    )


_REASONING_CHAT = "The user wants an answer in plain words, so I give one."
_REASONING_CALL = "The next step of the work is {}, and I copy every value as it is."


def sentences(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Endless plain sentences, always the same ones for the same messages."""
    digest = hashlib.blake2b(json.dumps(messages, default=str).encode(), digest_size=8).digest()
    choose = random.Random(digest)
    while True:
        words = (choose.choice(part) for part in (_SUBJECTS, _VERBS, _OBJECTS, _ENDINGS))
        yield f"{' '.join(words)}."


def _offered(tools: Sequence[Mapping[str, Any]]) -> set[str]:
    return {str(tool.get("function", {}).get("name")) for tool in tools}
