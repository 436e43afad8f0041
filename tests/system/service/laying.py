"""Lays the stand-in service on a test host, in the state before the fix, and writes the host file that describes it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.system.hosts import TestHost

ROLES = ("prefill", "decode", "router")
SERVICE = "sglang-dsv4"
STATE_HOME = "/var/lib/runbook"
STATE = f"{STATE_HOME}/{SERVICE}"
OVERLAP, TOPK = "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP", "SGLANG_OPT_USE_TOPK_V2"
_SERVER = "/opt/standin/server.py"
_EXPORTS = {
    "prefill": {"SGLANG_SM120_MMA_FLASHMLA": "1", TOPK: "0"},
    "decode": {"SGLANG_SM120_MMA_FLASHMLA": "1", TOPK: "0"},
    "router": {},
}
_FIXED = {
    "prefill": {"SGLANG_SM120_MMA_FLASHMLA": "1"},
    "decode": {"SGLANG_SM120_MMA_FLASHMLA": "1", OVERLAP: "0"},
    "router": {},
}
_UNIT = """\
[Unit]
Description=DeepSeek-V4-Flash, {role}
StartLimitIntervalSec=0

[Service]
ExecStart=/root/serve_dsv4_{role}.sh
Restart=on-failure
RestartSec=2
TimeoutStopSec=10

[Install]
WantedBy=multi-user.target
"""
FLAGS: dict[str, dict[str, Any]] = {
    OVERLAP: {"value": "0", "units": ["decode"], "why": "capture-only stream race corrupts sessions"},
    "SGLANG_SM120_MMA_FLASHMLA": {
        "value": "1",
        "units": ["prefill", "decode"],
        "why": "attention kernel on SM120",
    },
    TOPK: {"absent": True, "units": ["prefill", "decode"], "why": "diagnostic, made no difference"},
}


def unit(role: str) -> str:
    return f"sglang-dsv4-{role}.service"


def script(role: str) -> str:
    return f"/root/serve_dsv4_{role}.sh"


def script_text(role: str, exports: Mapping[str, str]) -> bytes:
    """A serve script that exports these and runs the stand-in."""
    lines = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in exports.items())
    return f"#!/bin/bash\nset -euo pipefail\n\n{lines}\nexec python3 -I -S {_SERVER} {role}\n".encode()


def before(role: str) -> bytes:
    """A serve script before the fix: the stale diagnostic is in, the fix is not."""
    return script_text(role, _EXPORTS[role])


def after(role: str) -> bytes:
    """What a deploy of `host_file` makes of `before`."""
    return script_text(role, _FIXED[role])


def lay(host: TestHost, text: Callable[[str], bytes] = before) -> None:
    """Scripts of these texts, units and processes; no release, no audit, nothing else of an earlier test."""
    host.put(_SERVER, Path(__file__).with_name("server.py").read_bytes())
    for role in ROLES:
        host.put(script(role), text(role), 0o755)
        host.put(f"/etc/systemd/system/{unit(role)}", _UNIT.format(role=role).encode())
    names = " ".join(map(unit, ROLES))
    host.sh(
        f"rm -rf {STATE} /etc/systemd/system/sglang-dsv4-*.service.d; "
        f"systemctl daemon-reload; systemctl --quiet enable {names} 2>/dev/null; "
        f"systemctl reset-failed; systemctl restart {names}"
    )
    wait_serving(host)


def pids(host: TestHost) -> dict[str, int]:
    """MainPID by role."""
    shown = host.run(["systemctl", "show", "--property=MainPID", "--value", *map(unit, ROLES)])
    return dict(zip(ROLES, map(int, shown.split()), strict=True))


def running(host: TestHost, role: str) -> dict[str, str]:
    """The SGLANG_ variables of a role's process, as the kernel shows them."""
    entries = host.read(f"/proc/{pids(host)[role]}/environ").decode().split("\0")
    return dict(sorted(entry.split("=", 1) for entry in entries if entry.startswith("SGLANG_")))


def exported(text: bytes) -> dict[str, str]:
    """What a script of `script_text` exports."""
    lines = (line.split(" ", 1)[1] for line in text.decode().splitlines() if line.startswith("export "))
    return dict(sorted(line.split("=", 1) for line in lines))


def audit(host: TestHost) -> list[dict[str, Any]]:
    """The audit records on the host, oldest first."""
    lines = host.sh(f"cat {STATE}/audit.jsonl 2>/dev/null || true").splitlines()
    return [json.loads(line) for line in lines]


def wait_serving(host: TestHost) -> None:
    """Return once every port is open; fails after about ten seconds."""
    host.run(["python3", "-I", "-S", "-c", _WAIT])


_WAIT = """
import socket, time
for port in (30000, 30001, 30002):
    for attempt in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0: break
        time.sleep(0.05)
    else:
        raise SystemExit(f"nothing listens on {port}")
"""


def ssh_of(host: TestHost) -> dict[str, str]:
    """The `ssh:` of a host file: root, straight to the address."""
    return {
        "address": host.address,
        "user": "root",
        "key": str(host.key),
        "known_hosts": str(host.known_hosts),
        "config": "/dev/null",
    }


def host_file(host: TestHost, **fields: Any) -> str:
    """The YAML that describes a host with this service; `fields` go over it."""
    urls = {"prefill": {"health": "http://127.0.0.1:30000/health"}, "decode": {"health": "http://127.0.0.1:30002/health"},
            "router": {"url": "http://127.0.0.1:30001"}}  # fmt: skip
    document: dict[str, Any] = {
        "service": SERVICE,
        "ssh": ssh_of(host),
        "units": {role: {"unit": unit(role), "script": script(role), **urls[role]} for role in ROLES},
        "model": "deepseek-v4-flash",
        "flags": FLAGS,
        "wait": {
            "health": {"attempts": 200, "every_s": 0.05, "timeout_s": 3},
            "ready": {"attempts": 40, "every_s": 0.05, "timeout_s": 5, "max_tokens": 8},
            "hold_s": 0.2,
        },
        "validations": [],
        "bench": None,
    }
    return yaml.safe_dump({**document, **fields}, sort_keys=False)
