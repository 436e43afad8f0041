"""A deploy without load by runbook, by ansible-core and by pyinfra, on one real host, and the ratios of their times.

    python -m benchmarks.against_others [--rounds 5]

All three do the same on a Debian host with real sshd and systemd: drop a stale export from two serve scripts, set another
in one of them, restart prefill until it is healthy, then decode, then have a chat answered through the router. A round is one
deploy by each, in turn (A B C A B C …), each a whole process with a connection of its own. `changing` rounds begin at the
state before the fix, `converged` ones where nothing is left to do; that each tool's deploy reached the running processes is
checked. Ansible and pyinfra are installed on first use, in the user's cache.
runbook's figure includes what the others do not do: releases, lock, audit, preflight, evidence of processes, a second look.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.others import tools
from benchmarks.others.installed import NotInstalledError
from benchmarks.testhost import booted
from tests.system.service import laying

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from benchmarks.others.tools import Tool
    from tests.system.hosts import TestHost

KINDS = ("changing", "converged")
# What issue C asks of a deploy without load: runbook's time over the other's, at most.
ASKED = {"pyinfra": 0.6, "ansible": 0.25}
Times = dict[str, list[float]]


def main(argv: Sequence[str] | None = None) -> int:
    args = arguments(argv)
    with booted("gpu1") as host, tools.controlled(host) as control, tempfile.TemporaryDirectory() as name:
        contestants = list(present(host, Path(name), control))
        for tool in contestants:
            print(f"{tool.name}: {tool.version}")
        for kind in KINDS:
            times = measured(host, contestants, control, args.rounds, changing=kind == "changing")
            print(f"\n{kind}, {args.rounds} rounds\n{table(times)}", flush=True)
    return 0


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args(argv)


def present(host: TestHost, directory: Path, control: Path) -> Iterator[Tool]:
    """runbook, and of the others those that can be installed; that one cannot is said."""
    yield tools.runbook(host, directory / "runbook")
    others: tuple[Callable[[], Tool], ...] = (
        lambda: tools.ansible(host, directory / "ansible", control),
        lambda: tools.pyinfra(host, directory / "pyinfra"),
    )
    for make in others:
        try:
            yield make()
        except NotInstalledError as error:
            print(f"left out: {error}", file=sys.stderr)


def measured(
    host: TestHost, contestants: Sequence[Tool], control: Path, rounds: int, *, changing: bool
) -> Times:
    """Seconds of every round, by tool. The first deploy of each is thrown away: it fills the tool's own caches."""
    times: Times = {tool.name: [] for tool in contestants}
    laying.lay(host)
    for number in range(rounds + 1):
        for tool in contestants:
            if changing:
                laying.lay(host)
            seconds = timed(tool)
            require_deployed(host, tool)
            tools.hang_up(host, control)
            if number:
                times[tool.name].append(seconds)
    return times


def timed(tool: Tool) -> float:
    started = time.perf_counter()
    tool.deploy()
    return time.perf_counter() - started


def require_deployed(host: TestHost, tool: Tool) -> None:
    """What runs is what was asked for; raises ToolFailedError."""
    prefill, decode = (laying.running(host, role) for role in ("prefill", "decode"))
    if laying.TOPK in prefill or laying.TOPK in decode or decode.get(laying.OVERLAP) != "0":
        raise tools.ToolFailedError(f"{tool.name} ended well, but prefill runs {prefill}, decode {decode}")


def table(times: Mapping[str, Sequence[float]]) -> str:
    """A line a tool: its median, its range, and what runbook takes of it, the median over the rounds."""
    ours = times["runbook"]
    lines = [f"{'':10} {'median s':>9} {'range s':>14} {'runbook / it':>13} {'asked':>8}"]
    for name, seconds in times.items():
        spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
        ratio = statistics.median(mine / other for mine, other in zip(ours, seconds, strict=True))
        asked = f"≤ {ASKED[name]:g}" if name in ASKED else ""
        lines.append(f"{name:10} {statistics.median(seconds):9.2f} {spread:>14} {ratio:13.2f} {asked:>8}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
