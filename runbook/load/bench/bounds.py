"""How much of one answer is kept: a server that never ends must not take the memory there is, for all streams at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_AT_LEAST = 1 << 20
_A_TOKEN = 4 << 10  # an event of one token has about 300 bytes, 700 with the usage in it
_AT_MOST = 64 << 20
_A_READ = 128  # the tuple, the stamp and the head of the bytes object


class OversizedAnswerError(ValueError):
    """An answer beyond what its request allows."""


def most_bytes(body: Mapping[str, Any]) -> int:
    """The bytes of memory that the answer to a request may take: 1 MiB and 4 KiB a token asked for, at most 64 MiB."""
    tokens = body.get("max_tokens")
    return min(_AT_MOST, _AT_LEAST + _A_TOKEN * tokens) if isinstance(tokens, int) else _AT_MOST


def cost_of(read: bytes) -> int:
    """What keeping one read takes: of many tiny ones the bytes are the least part."""
    return len(read) + _A_READ


def too_much(most: int) -> str:
    return f"more than {most >> 10} KiB in one answer"
