"""Small real values for tests: a prefill/decode/router host and what one look at it would show."""

from __future__ import annotations

import hashlib
from typing import Any

from runbook.model import (
    Budget,
    FileState,
    Flag,
    Host,
    Observation,
    Policy,
    Processes,
    Release,
    SshTarget,
    Unit,
    UnitState,
    Wait,
)
from runbook.releases import records

PREFILL, DECODE = "/root/serve_prefill.sh", "/root/serve_decode.sh"
OVERLAP, TOPK = "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP", "SGLANG_OPT_USE_TOPK_V2"
UNITS = (
    Unit("prefill", "prefill.service", PREFILL, "http://127.0.0.1:30000/health"),
    Unit("decode", "decode.service", DECODE, "http://127.0.0.1:30002/health"),
    Unit("router", "router.service", None, None, "http://127.0.0.1:30001"),
)
FLAGS = (
    Flag(OVERLAP, "0", "a stream race corrupts sessions", ("decode",)),
    Flag(TOPK, None, "diagnostic, made no difference", ("prefill", "decode"), engine_default="1"),
)


def script(**exports: str) -> bytes:
    lines = "".join(f"export {name}={value}\n" for name, value in exports.items())
    return f"#!/bin/bash\n{lines}exec python -m sglang.launch_server\n".encode()


def host(**fields: Any) -> Host:
    values: dict[str, Any] = {
        "name": "gpu1",
        "service": "sglang",
        "source": "hosts/gpu1.yml",
        "ssh": SshTarget("gpu1.example.net"),
        "units": UNITS,
        "flags": FLAGS,
        "model": "deepseek-v4-flash",
        "wait": Wait(Budget(3, 1, 1), Budget(3, 1, 1), 8, 0.0),
        "validations": (),
        "bench": None,
        "policy": Policy(),
    }
    return Host(**(values | fields))


def unit_state(
    name: str,
    environ: dict[str, str] | None = None,
    *,
    kind: Any = "environ",
    started_at: float = 1000.0,
    **properties: str,
) -> UnitState:
    values = {
        "LoadState": "loaded",
        "ActiveState": "active",
        "SubState": "running",
        "MainPID": "100",
        "NRestarts": "0",
    }
    return UnitState(name, values | properties, Processes(kind, environ or {}, 100, started_at))


def file_state(path: str, content: bytes | None, *, ctime_s: float = 500.0) -> FileState:
    return FileState(path, path, content, ctime_ns=int(ctime_s * 1e9))


def observation(
    *,
    prefill: bytes | None = None,
    decode: bytes | None = None,
    units: dict[str, UnitState] | None = None,
    **fields: Any,
) -> Observation:
    """What is there: by default both scripts and processes carry the stale flag, and the fix is missing."""
    stale = script(**{TOPK: "0"})
    files = {PREFILL: prefill or stale, DECODE: decode or stale}
    environ = {TOPK: "0"}
    states = {
        "prefill.service": unit_state("prefill.service", environ),
        "decode.service": unit_state("decode.service", environ),
        "router.service": unit_state("router.service", kind="unknown"),
    }
    values: dict[str, Any] = {
        "facts": {},
        "files": {path: file_state(path, content) for path, content in files.items()},
        "units": states | (units or {}),
        "releases": (),
        "current": None,
        "inflight": None,
        "lock_holder": None,
        "free_bytes": 1 << 40,
        "free_inodes": 1 << 20,
        "read_only": (),
        "now": 2000.0,
    }
    return Observation(**(values | fields))


def release(release_id: str, seen: Observation, *, parent: str | None = None, **fields: Any) -> Release:
    values: dict[str, Any] = {
        "created": "2026-01-01T00:00:00+00:00",
        "verdict": "proven",
        "files": records(seen.files),
    }
    return Release(id=release_id, parent=parent, **(values | fields))


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
