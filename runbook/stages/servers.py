"""What the servers say of themselves: version and arguments, as `/server_info` of SGLang tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runbook import probes
from runbook.errors import TunnelError
from runbook.load.address import INFO_PATHS
from runbook.onhost.masking import mask
from runbook.verify import serverinfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.work import Work

_DEADLINE_S = 3.0  # it hangs where the scheduler hangs, and the record must not
_MOST_ARGUMENTS = 500
_LONGEST = 300


def ask(work: Work) -> dict[str, dict[str, Any]]:
    """Role → `{"version", "arguments"}` of each unit with a health URL of HTTP, or `{"error"}`."""
    return {unit.role: _ask(work, unit.health) for unit in work.host.units if probes.speaks_http(unit.health)}


def _ask(work: Work, health: str) -> dict[str, Any]:
    url = urlsplit(health)
    answers = serverinfo.answers(work, f"{url.scheme}://{url.netloc}", _DEADLINE_S)
    try:
        told = next(filter(None, map(parse, answers)), None)
    except TunnelError as error:
        return {"error": str(error)}
    return told or {"error": f"it tells nothing of itself at {' or '.join(INFO_PATHS)}"}


def parse(body: bytes) -> dict[str, Any]:
    """Version and arguments of a /server_info document, secrets masked; empty where it is none."""
    found = serverinfo.document(body)
    if not found:
        return {}
    nested = found.get("server_args")
    merged = {**nested, **found} if isinstance(nested, dict) else found
    return {"version": _short(merged.pop("version", None)), "arguments": _arguments(merged)}


def _arguments(found: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values: what is nested is what the server counts, or belongs to others."""
    plain = [(str(name), value) for name, value in found.items() if not isinstance(value, dict | list)]
    return {
        name: mask(name, _short(value)) if isinstance(value, str) else value
        for name, value in sorted(plain)[:_MOST_ARGUMENTS]
        if value is not None
    }


def _short(value: Any) -> Any:
    return value[:_LONGEST] if isinstance(value, str) else value
