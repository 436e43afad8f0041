"""One request of a bench: the raw stream as it was read, and the record made of it afterwards.

While the load runs only stamps and bytes are kept; parsing waits until the repeat is over, so that it delays no
other stream's stamp. All times are seconds of one `time.perf_counter()`, made relative to the repeat's start in the
result.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class RawStream:
    """What the hot path keeps of one request.

    `intended` 0: whenever it is sent, as in a closed loop. `failure` is a kind, empty while nothing went wrong.
    `framed`: the reads are those of the whole HTTP response, head and chunk sizes included, not of its body.
    """

    index: int
    intended: float = 0.0
    sent: float = 0.0
    ended: float = 0.0
    failure: str = ""
    detail: str = ""
    framed: bool = False
    reads: list[tuple[float, bytes]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One request as measured. `arrivals` stamps every event that carried content, reasoning or a tool delta.

    Token counts are the server's usage; `completion_tokens` None: it sent none. `cached_tokens` None: not reported.
    `failure` is a kind (http 503, refused, timeout, stalled, deadline, cut, streamerror, badstream, empty), or empty.
    """

    index: int
    intended: float
    sent: float
    ended: float
    first_byte: float | None
    arrivals: tuple[float, ...]
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    finish: str | None
    failure: str
    detail: str = ""

    @property
    def ok(self) -> bool:
        return not self.failure

    @property
    def output_tokens(self) -> int:
        """Tokens by usage; without usage one an event, which the result says."""
        return len(self.arrivals) if self.completion_tokens is None else self.completion_tokens

    @property
    def ttft(self) -> float:
        """From the intended send time to the first content event, in seconds."""
        return self.arrivals[0] - self.intended

    @property
    def e2e(self) -> float:
        """From the intended send time to the last content event, in seconds."""
        return self.arrivals[-1] - self.intended

    @property
    def tpot(self) -> float | None:
        """(latency − TTFT) / (output tokens − 1), in seconds; None for a single token."""
        return (self.e2e - self.ttft) / (self.output_tokens - 1) if self.output_tokens > 1 else None

    @property
    def gaps(self) -> tuple[float, ...]:
        """Seconds between content events; events that arrived in one read are 0 apart."""
        return tuple(
            later - earlier for earlier, later in zip(self.arrivals, self.arrivals[1:], strict=False)
        )

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "arrivals": [round(stamp, 6) for stamp in self.arrivals]}
