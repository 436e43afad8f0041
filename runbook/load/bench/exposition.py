"""Prometheus text → the few figures a bench compares with its own: requests, tokens, what runs and what waits.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_SAMPLE = re.compile(r"^(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{.*\})?\s+(?P<value>\S+)(?:\s+\d+)?$")
_NAMES = {
    "requests": ("sglang:num_requests_total", "vllm:request_success_total"),
    "generated": ("sglang:generation_tokens_total", "vllm:generation_tokens_total"),
    "running": ("sglang:num_running_reqs", "vllm:num_requests_running"),
    "queued": ("sglang:num_queue_reqs", "vllm:num_requests_waiting"),
}
_PREFIXES = tuple(name for names in _NAMES.values() for name in names)


@dataclass(frozen=True, slots=True)
class Counters:
    """What a server says of itself; None: it does not say. Sums over label sets (ranks, finish reasons)."""

    requests: float | None = None
    generated: float | None = None
    running: float | None = None
    queued: float | None = None

    @property
    def load(self) -> float | None:
        """Requests in the server: running and waiting."""
        if self.running is None and self.queued is None:
            return None
        return (self.running or 0.0) + (self.queued or 0.0)


def read_counters(text: str) -> Counters:
    """Counters from a server's /metrics; lines that are not samples are passed over."""
    sums: dict[str, float] = {}
    for line in text.split("\n"):  # most of the hundreds of lines are histograms: look closer at ours only
        match = _SAMPLE.match(line) if line.startswith(_PREFIXES) else None
        if match and (value := _number(match["value"])) is not None:
            sums[match["name"]] = sums.get(match["name"], 0.0) + value
    return Counters(
        **{
            field: next((sums[name] for name in names if name in sums), None)
            for field, names in _NAMES.items()
        }
    )


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
