"""The worker's counters, and their text for a Prometheus scrape under SGLang's names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """Totals since the start, and the requests in flight now."""

    requests: int = 0
    aborted: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generation_tokens: int = 0
    running: int = 0
    queued: int = 0

    @property
    def cache_hit_rate(self) -> float:
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


def render_metrics(counters: Counters, *, model: str, role: str) -> str:
    """Prometheus text format 0.0.4."""
    labels = f'{{model_name="{_escape(model)}",engine_type="{_escape(role)}"}}'
    rows = (
        ("num_running_reqs", "gauge", counters.running),
        ("num_queue_reqs", "gauge", counters.queued),
        ("cache_hit_rate", "gauge", round(counters.cache_hit_rate, 6)),
        ("num_requests_total", "counter", counters.requests),
        ("num_aborted_requests_total", "counter", counters.aborted),
        ("prompt_tokens_total", "counter", counters.prompt_tokens),
        ("cached_tokens_total", "counter", counters.cached_tokens),
        ("generation_tokens_total", "counter", counters.generation_tokens),
    )
    return "".join(
        f"# TYPE sglang:{name} {kind}\nsglang:{name}{labels} {value}\n" for name, kind, value in rows
    )


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
