"""miscopy: right values missing, repeated, out of order or in the wrong argument: ordinary model behaviour, up to a rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange


def judge(exchange: Exchange) -> Iterator[Defect]:
    for fault, offset in exchange.faults_of("miscopy"):
        yield Defect("miscopy", Severity.RATE, fault.message, offset, excerpt(fault.found))
