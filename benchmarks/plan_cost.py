"""What a no-op `plan` costs, as a ratio to a bare Fabric script that logs in to the same host and runs one command.

    .venv/bin/python benchmarks/plan_cost.py [--rounds 10]

Three whole processes run in turn against the lab, which must hold the wanted state (`./invoke deploy`): the plan, the script
as Fabric's documentation writes it, and the same with all that can be spared switched off (ssh_config, agent, the keys of
~/.ssh, stdin). Prints the median of each and the median ratio over the rounds. Bytecode is written for all three, as it is
for whoever uses either twice.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BARE = """
import sys
from fabric import Connection
address, port, user, key = sys.argv[1:]
with Connection(address, user=user, port=int(port), connect_kwargs={"key_filename": key}) as c:
    c.run("true", hide=True)
"""
LEAN = """
import sys
from fabric import Config, Connection
address, port, user, key = sys.argv[1:]
config = Config(overrides={"load_ssh_configs": False})
login = {"key_filename": key, "look_for_keys": False, "allow_agent": False}
with Connection(address, user=user, port=int(port), config=config, connect_kwargs=login) as c:
    c.run("true", hide=True, in_stream=False)
"""
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    sys.path.insert(0, str(ROOT))
    from runbook import lab

    state = lab.up(ROOT / ".lab", say=print)
    login = ["127.0.0.1", str(state.ssh_port), state.user, str(state.root / "keys" / "client_ed25519")]
    plan = [sys.executable, "-m", "runbook", "plan", "--host", "lab", "--json"]
    commands = {
        "plan": plan,
        "bare Fabric": [sys.executable, "-c", BARE, *login],
        "leanest Fabric": [sys.executable, "-c", LEAN, *login],
    }
    document = json.loads(_run(plan))
    print(
        "plan is a no-op" if not document["plan"]["changes"] else "NOTE: the plan is not empty; deploy first"
    )
    for command in commands.values():
        _run(command)
    figures = [{name: _seconds(command) for name, command in commands.items()} for _ in range(rounds)]
    for name in commands:
        seconds = statistics.median(figure[name] for figure in figures)
        ratio = statistics.median(figure["plan"] / figure[name] for figure in figures)
        print(f"{name:15} median {seconds:.3f} s   plan / {name} {ratio:.2f} over {rounds} rounds")


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    _run(command)
    return time.perf_counter() - started


def _run(command: list[str]) -> bytes:
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, stdin=subprocess.DEVNULL, env=ENVIRONMENT
    ).stdout


if __name__ == "__main__":
    main()
