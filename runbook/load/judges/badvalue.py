"""badvalue: a value that is nobody's, more than one token group away from the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange


def judge(exchange: Exchange) -> Iterator[Defect]:
    for fault, offset in exchange.faults_of("badvalue"):
        yield Defect("badvalue", Severity.HARD, fault.message, offset, excerpt(fault.found))
