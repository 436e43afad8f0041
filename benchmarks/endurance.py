"""What is left over after many rollouts, and during a long soak: `python -m benchmarks.endurance [rollouts [waves]]`.

First so many rollouts (1,000) in a row on a host whose disk is real and whose time is not (`tests/endurance`): memory,
descriptors, threads, children, temporary files and what lies on the disks, every tenth of the way. Then a soak of so many
waves of 80 sessions (48, which takes a real server two hours) against a fast stand-in: the client's memory and descriptors.
Last the growth over the second half of each.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.load.arguments import Asked
from runbook.load.options import Options
from runbook.load.run import run_validation
from tests.endurance import footprint
from tests.endurance.desk import EXITS, Desk
from tests.endurance.standin import standing_in

if TYPE_CHECKING:
    from collections.abc import Callable

    Say = Callable[[str], object]

MIB = 1 << 20


def main() -> None:
    rollouts, waves = (int(arg) for arg in (*sys.argv[1:], "1000", "48")[:2])
    with tempfile.TemporaryDirectory(prefix="endurance-") as directory:
        for name in ("temporary", "desk"):
            Path(directory, name).mkdir()
        tempfile.tempdir = f"{directory}/temporary"
        if rollouts:
            year(Path(directory), rollouts, _print)
        if waves:
            soak(Path(directory), waves, _print)


def year(directory: Path, rollouts: int, say: Say) -> None:
    """The rollouts, a line every tenth of them."""
    desk, resident = Desk.begin(directory / "desk"), list[float]()
    say("rollouts   RSS MiB  fds  threads  children  temporary  files  audit MiB  other kB")
    for number in range(1, rollouts + 1):
        desk.next()
        if number % max(1, rollouts // 10) == 0:
            now = footprint.of()
            resident.append(now.rss_bytes / MIB)
            say(f"{number:8}  {_held(now)}  {_lying(directory)}")
    wrong = sum(code != EXITS[number % len(EXITS)] for number, code in enumerate(desk.exits))
    say(f"{wrong} of {rollouts} ended other than they should")
    if len(resident) > 3:
        per_hundred = footprint.slope(resident) / max(1, rollouts // 10) * 100
        say(f"resident memory, second half: {per_hundred:+.2f} MiB per 100 rollouts")


def _held(now: footprint.Footprint) -> str:
    counts = f"{len(now.descriptors):3}  {len(now.threads):7}  {len(now.children):8}"
    return f"{now.rss_bytes / MIB:8.1f}  {counts}"


def _lying(directory: Path) -> str:
    files = footprint.files_below(directory / "desk")
    chains = [path for path in files if path.suffix == ".jsonl"]
    other = footprint.bytes_of([path for path in files if path not in chains])
    temporary = len(footprint.files_below(directory / "temporary"))
    return f"{temporary:9}  {len(files):5}  {footprint.bytes_of(chains) / MIB:9.2f}  {other / 1000:8.1f}"


def soak(directory: Path, waves: int, say: Say) -> None:
    """The waves, a line every tenth of them."""
    resident: dict[int, float] = {}

    def heard(text: str, /, **fields: Any) -> None:
        if fields["wave"] in resident:
            return
        now = footprint.of()
        resident[fields["wave"]] = now.rss_bytes
        if fields["wave"] % max(1, waves // 10) == 1:
            say(f"{fields['wave']:8}  {_held(now)}")

    say("    wave   RSS MiB  fds  threads  children")
    with standing_in() as url:
        result = asyncio.run(run_validation(Asked(options(url, waves), None, None, None, None), heard))
    say(f"   after  {_held(footprint.of())}  {dict(result.counts)} in {result.wall_s:.0f} s")
    if len(resident) > 3:
        per_session = footprint.slope(list(resident.values())) / SESSIONS
        say(f"resident memory, second half: {per_session:+.0f} bytes per session")


SESSIONS = 80


def options(url: str, waves: int) -> Options:
    """Sessions as a validation of the shipped profile has them."""
    return Options(
        base_url=url, model="m", sessions=SESSIONS, rounds=3, ctx=350, max_tokens=2000, timeout_s=260.0,
        tag="soak", seed=7, waves=waves, min_concurrency=0.0, max_client_cpu=9.0,
    )  # fmt: skip


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
