"""Appending a record to the host's chain, signed for the place it takes where a key is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.audit.signing import payload
from runbook.errors import FileChangedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runbook.ssh import Wire

# Runs that verify take no lock and may append at the same moment; whoever loses the place signs for the next.
_TRIES = 5


def append(
    wire: Wire,
    state: str,
    record: Mapping[str, Any],
    sign: Callable[[bytes], str] | None,
    *,
    deadline_s: float,
    once: bool = False,
) -> dict[str, Any]:
    """Append; returns `{"known": False, "seq", "hash", "journal"}`, or `{"known": True}` for an id that `once` found.

    Raises `runbook.errors`, SigningError among them.
    """

    def send(what: Mapping[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = wire.call(
            "audit_append", state=state, deadline_s=deadline_s, once=once, **what
        )
        return answer

    if sign is None:
        return send({"record": dict(record)})
    for _ in range(_TRIES - 1):
        try:
            return send(_signed(wire, state, record, sign))
        except FileChangedError:
            continue
    return send(_signed(wire, state, record, sign))


def _signed(
    wire: Wire, state: str, record: Mapping[str, Any], sign: Callable[[bytes], str]
) -> dict[str, Any]:
    place = wire.call("audit_place", state=state)
    signature = sign(payload({**record, **place}))
    return {"record": {**record, "signature": signature}, "expected": place}
