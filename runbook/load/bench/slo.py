"""Service level objectives of one request, as `--slo ttft=200,tpot=20` states them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runbook.load.bench.request import RequestRecord


@dataclass(frozen=True, slots=True)
class Slo:
    """Upper limits in milliseconds; None: no limit."""

    ttft: float | None = None
    tpot: float | None = None
    e2e: float | None = None

    @classmethod
    def parse(cls, text: str) -> Slo:
        """From `name=milliseconds` parted by commas. Raises ValueError naming what is wrong."""
        limits: dict[str, float] = {}
        for part in filter(None, text.split(",")):
            name, _, value = part.partition("=")
            if name.strip() not in ("ttft", "tpot", "e2e"):
                raise ValueError(f"--slo: should be ttft=, tpot= or e2e= with milliseconds, found {part!r}")
            try:
                limits[name.strip()] = limit = float(value)
            except ValueError:
                limit = math.nan
            if not 0 < limit < math.inf:
                raise ValueError(f"--slo: {name.strip()} should be milliseconds, found {value!r}")
        return cls(**limits)

    def met(self, request: RequestRecord) -> bool:
        """Whether an answered request kept every limit."""
        tpot = request.tpot
        measured = (
            (self.ttft, request.ttft),
            (self.tpot, tpot if tpot is not None else 0.0),
            (self.e2e, request.e2e),
        )
        return request.ok and all(limit is None or seconds * 1e3 <= limit for limit, seconds in measured)

    def to_json(self) -> dict[str, float]:
        return {name: limit for name in ("ttft", "tpot", "e2e") if (limit := getattr(self, name)) is not None}
