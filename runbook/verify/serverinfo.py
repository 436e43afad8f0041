"""What a server says of itself: its version and arguments, as the workers of SGLang tell them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from runbook.load.address import INFO_PATHS
from runbook.text import figure, no_figure
from runbook.tunnel import bearing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.work import Work


def answers(work: Work, base_url: str, deadline_s: float) -> Iterator[bytes]:
    """What it answers at each path in turn, each within `deadline_s`: it hangs where its scheduler does. Raises TunnelError."""
    for path in INFO_PATHS:
        answer = work.tunnel.get(f"{base_url}{path}", deadline_s=deadline_s, headers=bearing(work.api_key))
        if answer.status == 200:
            yield answer.body


def document(body: bytes) -> dict[str, Any]:
    """An answer as a JSON object; empty where it is none."""
    try:
        found = json.loads(body, parse_constant=no_figure, parse_float=figure)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
