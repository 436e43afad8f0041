"""What the server says of itself: /server_info, /metrics and whether it would take our requests at all.

Each question has its own deadline: /server_info hangs when SGLang's scheduler hangs.
"""

from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any

import httpx

from runbook.load.address import INFO_PATHS
from runbook.load.bench.exposition import Counters, read_counters
from runbook.load.bench.parse import shown
from runbook.load.models import MODELS_PATH, names

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEADLINE_S = 5.0
_MAX_BYTES = 4 << 20

# Arguments that shape speed and do not change from start to start. Ports, paths, seeds and measured memory are not among them.
_ARGUMENTS = (
    "model_path", "served_model_name", "dtype", "quantization", "kv_cache_dtype", "context_length", "tp_size", "dp_size",
    "pp_size", "ep_size", "nnodes", "page_size", "max_running_requests", "chunked_prefill_size", "max_prefill_tokens",
    "schedule_policy", "attention_backend", "moe_runner_backend", "moe_a2a_backend", "sampling_backend",
    "disable_cuda_graph", "cuda_graph_max_bs", "disable_radix_cache", "disable_overlap_schedule", "enable_dp_attention",
    "enable_mixed_chunk", "enable_torch_compile", "speculative_algorithm", "speculative_num_steps",
    "speculative_num_draft_tokens", "disaggregation_mode", "disaggregation_transfer_backend", "tool_call_parser",
    "reasoning_parser",
)  # fmt: skip
_GPU = ("gpu_name", "gpu_count", "device", "device_name", "cuda_version", "driver_version")


async def server_facts(client: httpx.AsyncClient, server_url: str = "") -> dict[str, Any]:
    """{"version", "arguments", "gpu"} as far as the server tells; values are JSON scalars.

    A router does not say what the workers behind it are: `server_url` names one of them.
    """
    for path in INFO_PATHS:
        document = await _json(client, f"{server_url.rstrip('/')}{path}")
        if document:
            return facts_of(document)
    return {"version": None, "arguments": {}, "gpu": {}}


def facts_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a /server_info document that two comparable runs share."""
    nested = document.get("server_args")
    merged = {**nested, **document} if isinstance(nested, dict) else document
    return {
        "version": _scalar(merged.get("version")),
        "arguments": {name: _scalar(merged[name]) for name in _ARGUMENTS if name in merged},
        "gpu": {name: _scalar(merged[name]) for name in _GPU if name in merged},
    }


async def served_models(client: httpx.AsyncClient) -> tuple[str, ...]:
    """The names the server lists; none where it lists nothing."""
    return names(await _json(client, MODELS_PATH))


async def counters(client: httpx.AsyncClient, url: str) -> Counters:
    """The server's counters now; empty ones where it has no /metrics."""
    text = await _text(client, url)
    return Counters() if text is None else read_counters(text)


async def _json(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    text = await _text(client, path)
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


async def _text(client: httpx.AsyncClient, url: str) -> str | None:
    """A small 200 body, or None for everything else."""
    try:
        return await asyncio.wait_for(_get(client, url), _DEADLINE_S)
    except (asyncio.TimeoutError, httpx.HTTPError):
        return None


async def _get(client: httpx.AsyncClient, url: str) -> str | None:
    async with client.stream("GET", url) as response:
        if response.status_code != 200:
            return None
        body = b""
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _MAX_BYTES:
                return None
        return body.decode("utf-8", "replace")


def _scalar(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):  # written 1e999, and no number of JSON's
        return None
    if isinstance(value, str):
        return shown(value)
    return value if isinstance(value, int | float | None) else shown(json.dumps(value, sort_keys=True))
