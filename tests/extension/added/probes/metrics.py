"""Does the worker's metrics page tell of requests? For engines whose health page answers before they take any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.probes import Sample
from runbook.tunnel import TunnelError

if TYPE_CHECKING:
    from runbook.tunnel import Tunnel

TOLD = b"num_running_reqs"


def ask(tunnel: Tunnel, url: str, timeout_s: float) -> Sample:
    """One GET of `metrics://…` by HTTP; a page without the gauge does not hold."""
    try:
        response = tunnel.get(f"http{url.removeprefix('metrics')}", deadline_s=timeout_s)
    except TunnelError as error:
        return Sample(False, str(error))
    return Sample(
        response.status == 200 and TOLD in response.body, f"HTTP {response.status}, {TOLD.decode()}"
    )
