"""badjson: arguments that are not exactly one JSON object with every key once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt
from runbook.load.exchange import parse_arguments
from runbook.load.judges.merged import second_value_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange


def judge(exchange: Exchange) -> Iterator[Defect]:
    for call in exchange.reply.calls:
        text = call.arguments.text
        try:
            parse_arguments(text)
        except ValueError as error:
            if second_value_at(text) is None:
                message = f"{call.arguments.name}: {error}"[:200]
                yield Defect("badjson", Severity.SOFT, message, call.arguments.offset(0), excerpt(text))
