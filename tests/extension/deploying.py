"""`python -m tests.extension.deploying HOSTS_DIR`: deploys gpu1 of a directory to a host in memory, and tells how it went."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from runbook import inventory, rollout
from runbook.events import Run
from runbook.options import Options
from runbook.work import Work
from tests.fakehost import FakeHost

SCRIPT = b"#!/usr/bin/fish\nset -gx OLD 1\nset -gx KEPT 1\nexec engine --port 30002\n"
METRICS = "http://127.0.0.1:30002/metrics"


def deployed(hosts_dir: Path, *, metrics: bytes, said: list[str]) -> dict[str, Any]:
    """A deploy to a host that answers its metrics page and its tool check with these."""
    host = inventory.load("gpu1", hosts_dir=hosts_dir)
    path = host.units[0].script or ""
    fake = FakeHost(
        host=host,
        files={path: SCRIPT},
        pages={METRICS: metrics},
        load=lambda argv: {"lines": said, "exit": 0},
    )
    work = Work(
        host=host,
        run=Run([], clock=fake.clock),
        wire=fake,  # type: ignore[arg-type]
        tunnel=fake,  # type: ignore[arg-type]
        rollout="20261130T000000-aaaa",
        operator={"user": "ann", "host": "laptop"},
        confirm=lambda question: True,
        sleep=fake.clock.sleep,
        clock=fake.clock,
        now=fake.clock.utc,
    )
    document = rollout.deploy(work, Options()).document()
    return {
        **{key: document[key] for key in ("outcome", "exit_code", "error", "validations", "findings")},
        "file": fake.files[path].decode(),
        "environ": fake.units["decode.service"].environ,
        "restarts": fake.calls.count("unit_restart"),
    }


if __name__ == "__main__":
    told = [
        deployed(Path(sys.argv[1]), metrics=metrics, said=said)
        for metrics, said in (
            (b"num_running_reqs 0", ["ok"] * 8),
            (b"num_running_reqs 0", ["ok"] * 7 + ["bad"]),
            (b"loading", ["ok"] * 8),
        )
    ]
    sys.stdout.write(json.dumps(told))
