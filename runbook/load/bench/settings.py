"""Everything one bench is told to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.load.bench.slo import Slo
    from runbook.load.bench.workload import Workload


@dataclass(frozen=True, slots=True)
class Settings:
    """How much: `requests` or `duration_s` for every level and repeat, else what fits into `budget_s` in all.

    `deadline_s` bounds one request, `stall_s` the silence within it. `metrics_urls` are asked for the server's own
    counters, `server_url` (empty: `base_url`) for what it is. `max_cpu` and `max_lag` are shares beyond which the client
    calls itself the bottleneck; `processes` share the load where one is not enough. `count_tokens` makes input lengths
    exact, else they are estimated.
    """

    base_url: str
    workload: Workload
    repeats: int = 5
    seed: int = 0
    budget_s: float | None = 60.0
    requests: int | None = None
    duration_s: float | None = None
    slo: Slo | None = None
    api_key: str | None = field(default=None, repr=False)
    metrics_urls: tuple[str, ...] = ()
    server_url: str = ""
    deadline_s: float = 600.0
    stall_s: float = 120.0
    max_cpu: float = 0.8
    max_lag: float = 0.1
    processes: int = 1
    count_tokens: Callable[[str], int] | None = None

    @property
    def connections(self) -> int:
        """Enough for the largest level, and for asking the server while it is loaded."""
        levels = self.workload.concurrencies
        return (4096 if 0 in levels else max(levels)) + 8
