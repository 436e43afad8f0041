"""slip: the right value with damage in one token group, or at most two edits away

A model's copying error and a damaged token look alike here, so one alone is no proof: the rate is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange


def judge(exchange: Exchange) -> Iterator[Defect]:
    for fault, offset in exchange.faults_of("slip"):
        yield Defect("slip", Severity.RATE, fault.message, offset, excerpt(fault.found))
