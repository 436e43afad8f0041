"""streamerror: the server put an error object into a stream that began with 200."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange


def judge(exchange: Exchange) -> Iterator[Defect]:
    error = exchange.reply.error
    if error is not None:
        yield Defect("streamerror", Severity.INFRA, f"error in the stream: {excerpt(error)}")
