"""The options of a corruption run as one frozen value."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from runbook.load.script import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_VALUES = 10_000_000
"""Lines and rows of all scripts together: more than a thousand waves of 80 sessions, a minute of writing."""
TOKENS_A_LINE = 16
"""Of filler, about."""


@dataclass(frozen=True, slots=True)
class Options:
    """One corruption run.

    `concurrency` sessions run at once (None: all of a wave). `timeout_s` is a session's deadline. `thinking` and
    `temperature` None: the server's own default. `shared_prefix` is the share of the filler that all sessions have,
    `aborts` the share of requests that are first asked and hung up on. Waves run one after the other, further ones
    until `soak_s` is over. `tokenizer` is the path of a tokenizer.json that counts the filler, None: it is estimated.
    `metrics_url` None: /metrics of the endpoint. `processes` 0: as many as it takes. `extra_body` is merged into every request.
    """

    base_url: str
    model: str
    sessions: int
    rounds: int
    ctx: int
    max_tokens: int
    timeout_s: float
    tag: str
    seed: int
    rows: int = 24
    concurrency: int | None = None
    temperature: float | None = 0.0
    thinking: bool | None = None
    shared_prefix: float = 0.0
    aborts: float = 0.0
    waves: int = 1
    soak_s: float = 0.0
    early_stop: bool = True
    max_infra: int = 0
    min_concurrency: float = 0.5
    max_client_cpu: float = 0.8
    tokenizer: str | None = None
    metrics_url: str | None = None
    processes: int = 0
    extra_body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> Shape:
        return Shape(self.rounds, self.rows, self.ctx, self.shared_prefix)

    @property
    def at_once(self) -> int:
        """Sessions in flight at most."""
        return min(self.concurrency or self.sessions, self.sessions)

    @property
    def limit(self) -> int:
        """Output tokens a response may have."""
        asked = self.extra_body.get("max_tokens")
        return asked if isinstance(asked, int) else self.max_tokens

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "extra_body": dict(self.extra_body)}

    def body(self, messages: Any, tools: Any) -> dict[str, Any]:
        """The chat request. Decoding is never constrained: that would mask corruption."""
        chosen: dict[str, Any] = {"temperature": self.temperature} if self.temperature is not None else {}
        if self.thinking is not None:
            chosen["chat_template_kwargs"] = {"thinking": self.thinking, "enable_thinking": self.thinking}
        return {
            "model": self.model,
            "messages": list(messages),
            "tools": list(tools),
            "max_tokens": self.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            **chosen,
            **self.extra_body,
        }
