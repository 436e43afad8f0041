"""foreign: a value of another session, live or past, or of another run, anywhere in what the model said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load.defects import Defect, Severity, excerpt
from runbook.load.nonces import NONCE, SHARED, well_formed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.load.exchange import Exchange


def judge(exchange: Exchange) -> Iterator[Defect]:
    for channel in exchange.reply.channels:
        for found in NONCE.finditer(channel.text):
            if owner := _stranger(exchange, found[0]):
                at = found.start()
                message = f"{channel.name}: {found[0]} is {owner}"
                yield Defect("foreign", Severity.HARD, message, channel.offset(at), excerpt(channel.text, at))
    for fault, offset in exchange.faults_of("foreign"):
        yield Defect("foreign", Severity.HARD, fault.message, offset, excerpt(fault.found))


def _stranger(exchange: Exchange, nonce: str) -> str:
    owner = exchange.registry.owner_of(nonce)
    if owner in (SHARED, exchange.script.session):
        return ""
    if owner is not None:
        return f"a value of session {owner}"
    return "a value of an earlier wave or another run" if well_formed(nonce) else ""
