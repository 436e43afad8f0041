"""What a bench asks of the server: one shape of request, at one or several concurrencies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

UNCAPPED = 0  # a level without a limit of requests in flight: an open loop


def named(concurrency: int) -> str:
    """A level for people."""
    return f"concurrency {concurrency}" if concurrency != UNCAPPED else "no limit"


@dataclass(frozen=True, slots=True)
class Workload:
    """`concurrencies` in requests in flight (0: no limit, only with a rate), lengths in tokens.

    `request_rate` in requests a second makes Poisson arrivals; None is a closed loop, where the next request goes
    out when one ends. `extra_body` is added to every request. Without `ignore_eos` the model may end early.
    """

    model: str
    concurrencies: tuple[int, ...]
    input_tokens: int
    output_tokens: int
    request_rate: float | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    ignore_eos: bool = True

    @property
    def limit(self) -> int:
        """Tokens an answer may have."""
        asked = self.extra_body.get("max_tokens")
        return asked if isinstance(asked, int) else self.output_tokens

    def body(self, prompt: str) -> dict[str, Any]:
        """The chat request of one prompt. `ignore_eos` holds the output length where the server takes it."""
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": self.output_tokens,
            "temperature": 0.0,
            **({"ignore_eos": True} if self.ignore_eos else {}),
            "stream": True,
            "stream_options": {"include_usage": True},
            **self.extra_body,
        }
