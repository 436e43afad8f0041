"""What a no-op `plan` costs, as a ratio to a bare Fabric script that logs in to the same host and runs one command.

    .venv/bin/python benchmarks/plan_cost.py [--pairs 10]

Both are whole processes, run in turn (A B A B …) against the lab, which must hold the wanted state (`./invoke deploy`).
Prints the median of each and the median ratio of the pairs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BARE = """
import sys
from fabric import Config, Connection
address, port, user, key = sys.argv[1:]
config = Config(overrides={"load_ssh_configs": False})
login = {"key_filename": key, "look_for_keys": False, "allow_agent": False}
with Connection(address, user=user, port=int(port), config=config, connect_kwargs=login) as c:
    c.run("true", hide=True, in_stream=False)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    pairs = parser.parse_args().pairs
    sys.path.insert(0, str(ROOT))
    from runbook import lab

    state = lab.up(ROOT / ".lab", say=print)
    key = state.root / "keys" / "client_ed25519"
    bare = [sys.executable, "-c", BARE, "127.0.0.1", str(state.ssh_port), state.user, str(key)]
    plan = [sys.executable, "-m", "runbook.program", "plan", "--host", "lab", "--json"]
    document = json.loads(subprocess.run(plan, cwd=ROOT, check=True, capture_output=True).stdout)
    print(
        "plan is a no-op" if not document["plan"]["changes"] else "NOTE: the plan is not empty; deploy first"
    )
    _seconds(bare)
    figures = [(_seconds(plan), _seconds(bare)) for _ in range(pairs)]
    print(f"plan          median {statistics.median(a for a, _ in figures):.3f} s")
    print(f"bare Fabric   median {statistics.median(b for _, b in figures):.3f} s")
    print(f"ratio         median {statistics.median(a / b for a, b in figures):.2f} over {pairs} pairs")


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
