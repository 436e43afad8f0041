"""Does the worker's own health endpoint answer 200? For SGLang that is a one-token generation on the worker.

It never tests the prefill/decode pair, and a live but loaded server can miss a short timeout: the budget is
the host's (SGLang 0.5.23, `/health` = `/health_generate`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.probes import Sample
from runbook.tunnel import TunnelError

if TYPE_CHECKING:
    from runbook.tunnel import Tunnel


def ask(tunnel: Tunnel, url: str, timeout_s: float) -> Sample:
    """One GET; only exactly 200 holds."""
    try:
        response = tunnel.get(url, deadline_s=timeout_s)
    except TunnelError as error:
        return Sample(False, str(error))
    return Sample(response.status == 200, f"HTTP {response.status}")
