"""One server that answers by itself, as the profiles sglang-single and openai-single describe it: no router, no pair."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tests.system.service import laying
from tests.system.service.server import MODEL

if TYPE_CHECKING:
    from tests.system.hosts import TestHost
    from tests.system.operators import Operator

_PROFILES = Path(__file__).parents[3] / "hosts" / "profiles"
_SERVER = "/opt/standin/server.py"
_CLEAN = "echo 'wall=0.1s counts={\"maxrounds\": 2}'; echo 'CORRUPTION sessions: 0/2 = 0%'"
FLAG = "SGLANG_RECORD_STEP_TIME"


@dataclass(frozen=True, slots=True)
class Alone:
    """A server of one of the profiles: unit, port, and its serve script, None where the unit starts the program itself."""

    profile: str
    unit: str
    port: int
    script: str | None

    @property
    def state(self) -> str:
        return f"{laying.STATE_HOME}/{self.profile}"

    def text(self, **exports: str) -> bytes:
        """The serve script with these exports."""
        lines = "".join(f"export {name}={value}\n" for name, value in exports.items())
        return f"#!/bin/bash\n{lines}exec python3 -I -S {_SERVER} server {self.port}\n".encode()

    def lay(self, host: TestHost) -> None:
        """The server up, with a stale flag in its script; nothing of an earlier test."""
        host.put(_SERVER, Path(__file__).with_name("server.py").read_bytes())
        start = self.script or f"/usr/bin/python3 -I -S {_SERVER} server {self.port}"
        if self.script:
            host.put(self.script, self.text(**{FLAG: "1"}), 0o755)
        text = f"[Service]\nExecStart={start}\nRestart=on-failure\nRestartSec=1\nTimeoutStopSec=10\n"
        host.put(f"/etc/systemd/system/{self.unit}", text.encode())
        # The pair of other tests would hold the port.
        others = " ".join(map(laying.unit, laying.ROLES))
        host.sh(
            f"rm -rf {self.state}; systemctl stop {others} 2>/dev/null || true; systemctl daemon-reload; "
            f"systemctl restart {self.unit}; until ss -ltn | grep -q :{self.port}; do sleep 0.05; done"
        )

    def take_away(self, host: TestHost) -> None:
        host.sh(f"systemctl stop {self.unit}; rm /etc/systemd/system/{self.unit}; systemctl daemon-reload")

    def describe(self, operator: Operator, host: TestHost) -> None:
        """A host file on the shipped profile, which says only what the profile leaves open."""
        document: dict[str, Any] = {
            "profile": self.profile,
            "ssh": laying.ssh_of(host),
            "model": MODEL,
            "wait": {"health": {"attempts": 200, "every_s": 0.05, "timeout_s": 3},
                     "ready": {"attempts": 40, "every_s": 0.05, "timeout_s": 5, "max_tokens": 8}, "hold_s": 0.2},
            "validations": [{"name": "own", "run": _CLEAN}],
            "bench": None,
        }  # fmt: skip
        if self.script is None:
            document["units"] = {"server": {"unit": self.unit}}
        else:
            document["flags"] = {FLAG: {"absent": True, "why": "step times are not needed any more"}}
        operator.describe("gpu1", yaml.safe_dump(document, sort_keys=False))
        shutil.copytree(_PROFILES, operator.directory / "hosts" / "profiles", dirs_exist_ok=True)
