"""The youngest records of a host's audit, for pages that tell what was before."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from runbook.onhost.audit import record_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.work import Work

# A record with both benches is about 60 KB.
TAIL_BYTES = 1 << 20
_BEYOND = 1 << 62


def youngest_first(work: Work) -> Iterator[dict[str, Any]]:
    """The records in the chain's last TAIL_BYTES that can be read; raises RunbookError where the chain cannot."""
    for line in reversed(_tail(work).split(b"\n")):
        record = record_of(line)
        if record is not None:
            yield record


def _tail(work: Work) -> bytes:
    """The end of the chain, and not the whole of it: its size first, asked for beyond any end."""
    size = work.wire.call("audit_read", state=work.host.state, offset=_BEYOND)["size"]
    if not size:
        return b""
    offset = max(0, size - TAIL_BYTES)
    return base64.b64decode(work.wire.call("audit_read", state=work.host.state, offset=offset)["b64"])
