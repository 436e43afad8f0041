"""One short request before any load: is somebody there, is the key right, is the model served."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from runbook.load.bench.parse import record
from runbook.load.bench.request import RawStream
from runbook.load.bench.senders import httpx_sender

if TYPE_CHECKING:
    from runbook.load.bench.settings import Settings

_DEADLINE_S = 60.0


class PreflightFailed(Exception):
    """The endpoint cannot be benched; one line. `exit_code` 2: ask differently; 3: nobody answered."""

    def __init__(self, message: str, exit_code: int) -> None:
        self.exit_code = exit_code
        super().__init__(message)


async def preflight(client: httpx.AsyncClient, settings: Settings) -> None:
    """Ask for two tokens. Raises PreflightFailed."""
    body = {**settings.workload.body("Say yes."), "max_tokens": 2}
    raw = RawStream(0)
    try:
        await httpx_sender(client, lambda _: body, deadline_s=_DEADLINE_S)(raw)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise PreflightFailed(f"--base-url {settings.base_url}: {error}", 2) from error
    asked = record(raw)
    if asked.ok or asked.failure == "empty":  # two tokens may well be invisible ones
        return
    raise refusal(settings, asked.failure, asked.detail)


def refusal(settings: Settings, failure: str, detail: str) -> PreflightFailed:
    """What the first request's failure means, said so that the next step is clear."""
    url, model = settings.base_url, settings.workload.model
    if failure in ("http 401", "http 403"):
        return PreflightFailed(f"{url}: {detail}; name the variable that holds the key with --api-key-env", 2)
    if failure.startswith("http 4"):
        return PreflightFailed(f"{url}: {detail}; asked for --model {model}", 2)
    if failure == "not a stream":
        return PreflightFailed(f"{url}: {detail}", 2)
    return PreflightFailed(f"{url}: {failure}: {detail or 'no answer'}", 3)
