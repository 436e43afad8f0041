"""badutf8: replacement characters where the prompt was plain ASCII: bytes that are no UTF-8, or halves of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange


def judge(exchange: Exchange) -> Iterator[Defect]:
    for channel in exchange.reply.channels:
        if count := channel.text.count("\N{REPLACEMENT CHARACTER}"):
            at = channel.text.index("\N{REPLACEMENT CHARACTER}")
            message = f"{channel.name}: {count} replacement characters"
            yield Defect("badutf8", Severity.HARD, message, channel.offset(at), excerpt(channel.text, at))
