"""badutf8: replacement characters where the prompt was plain ASCII: bytes that are no UTF-8, or halves of one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange

# Arguments may hold it as JSON's escape; a half of a surrogate pair alone is what JSON makes of half a character.
_REPLACEMENT = re.compile(
    "\N{REPLACEMENT CHARACTER}|\\\\u[fF]{3}[dD]"
    "|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]"
)


def judge(exchange: Exchange) -> Iterator[Defect]:
    for channel in exchange.reply.channels:
        if places := [found.start() for found in _REPLACEMENT.finditer(channel.text)]:
            at = places[0]
            message = f"{channel.name}: {len(places)} replacement characters"
            yield Defect("badutf8", Severity.HARD, message, channel.offset(at), excerpt(channel.text, at))
