"""One short request before any load: is somebody there, is the key right, is the model served."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runbook.load.address import CHAT_PATH, root
from runbook.load.bench.parse import record, shown
from runbook.load.bench.request import RawStream
from runbook.load.bench.senders import sending
from runbook.load.bench.server import served_models
from runbook.load.preflight import NobodyThere, PreflightFailed

if TYPE_CHECKING:
    import httpx

    from runbook.load.bench.request import RequestRecord
    from runbook.load.bench.settings import Settings

_DEADLINE_S = 60.0
_REFUSED = ("http 400", "http 422")
_BUSY = ("http 408", "http 429")


async def preflight(client: httpx.AsyncClient, settings: Settings) -> Settings:
    """Ask for two tokens, the way the load will ask; the settings the server takes. Raises PreflightFailed.

    A server that knows no `ignore_eos` and refuses what it does not know is asked without it.
    """
    asked = await _ask(client, settings)
    if asked.failure in _REFUSED and settings.workload.ignore_eos:
        without = replace(settings, workload=replace(settings.workload, ignore_eos=False))
        again = await _ask(client, without)
        if again.ok or again.failure == "empty":
            asked, settings = again, without
    failed = not asked.ok and asked.failure != "empty"  # two tokens may well be invisible ones
    if not failed or _refused(asked.failure):
        _expect_model(settings, await served_models(client))
    if failed:
        raise refusal(settings, asked.failure, asked.detail)
    return settings


def _expect_model(settings: Settings, served: tuple[str, ...]) -> None:
    if served and settings.workload.model not in served:  # SGLang answers to any name
        raise PreflightFailed(
            f"{settings.base_url} serves {shown(', '.join(served))}; asked for --model {settings.workload.model}",
            2,
        )


async def _ask(client: httpx.AsyncClient, settings: Settings) -> RequestRecord:
    body = {**settings.workload.body("Say yes."), "max_tokens": 2}
    raw = RawStream(0)
    async with sending(client, replace(settings, deadline_s=_DEADLINE_S), lambda _: body, ahead=1) as send:
        await send(raw)
    return record(raw)


def _refused(failure: str) -> bool:
    """Whether somebody answers there, and what was asked makes no sense to them."""
    return failure == "not a stream" or (failure[:6] in ("http 3", "http 4") and failure not in _BUSY)


def refusal(settings: Settings, failure: str, detail: str) -> PreflightFailed:
    """What the first request's failure means, said so that the next step is clear."""
    url, model = settings.base_url, settings.workload.model
    if failure in ("http 401", "http 403"):
        return PreflightFailed(f"{url}: {detail}; name the variable that holds the key with --api-key-env", 2)
    if _refused(failure):
        return PreflightFailed(f"{root(url)}{CHAT_PATH}: {detail}; asked for --model {model}", 2)
    if failure == "refused":
        return NobodyThere(url, detail)
    return PreflightFailed(f"{url}: {failure}: {detail or 'no answer'}", 3)
