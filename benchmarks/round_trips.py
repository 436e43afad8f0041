"""How often plan and deploy wait for a far host, and how soon a rollback has the old bytes back on a near one.

    python -m benchmarks.round_trips [--repeats 3] [--delay-ms 50]

A real Debian host with sshd and systemd is reached straight, and over a relay that delays every byte by 50 ms each way. A
step's round trips are its shortest time over the relay, less its shortest without (other load only adds), divided by the
relay's round trip: 4.0 means that the step waited four times for the host. Beside them stand the helper's calls; those in
one pair of brackets went in one request. Preflight's three HTTP requests through the tunnel (health, health, chat) wait
besides.
The rollback is a process of its own, timed from its start (Enter) until the old bytes can be read on the host's disk.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.relay import relay
from benchmarks.testhost import booted
from runbook import app, ssh
from runbook.events import Called, StepEnded, StepStarted
from runbook.model import SshTarget
from runbook.options import Options
from runbook.request import Request
from tests.system.controller import Controller
from tests.system.service import laying

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runbook.events import Event
    from tests.system.hosts import TestHost

# What issue C asks: waits after the login until a plan stands, more until two files are written; seconds of the rollback.
ASKED_PLAN, ASKED_APPLY, ASKED_BACK_S = 4, 4, 1.5
LOGIN = "log in"
PLAN = ("connect", "observe", "plan")
APPLY = ("lock", "observe again", "preflight", "save what is there", "write")
_BACK_WITHIN_S = 60.0
Steps = dict[str, float]


@dataclass
class Heard:
    """A listener: the seconds of every step; every request in its order, with its step and the names of its calls."""

    steps: Steps = field(default_factory=dict)
    requests: list[tuple[str, list[str]]] = field(default_factory=list)
    _step: str = ""
    _row_goes_on: bool = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepStarted):
            self._step = "connect" if event.name.startswith("connect ") else event.name
        elif isinstance(event, StepEnded):
            self.steps[self._step], self._step = event.duration_s, ""
        elif isinstance(event, Called):
            self._add(event)

    def _add(self, called: Called) -> None:
        """A call that ended a while before it was told came back with the next one."""
        if self._row_goes_on:
            self.requests[-1][1].append(called.call)
        else:
            self.requests.append((self._step, [called.call]))
        self._row_goes_on = called.ago_s > 0


@dataclass(frozen=True, slots=True)
class Trips:
    """Steps near and far: the shortest seconds of each, and round trips."""

    near: Steps
    far: Steps
    round_trip_s: float
    requests: Sequence[tuple[str, Sequence[str]]]

    def of(self, *steps: str) -> float:
        return sum(self.far.get(step, 0.0) - self.near.get(step, 0.0) for step in steps) / self.round_trip_s

    def until_written(self) -> list[tuple[str, Sequence[str]]]:
        """The requests from the lock to the write, those between two steps included."""
        first, last = (
            next(place for place, (_, row) in enumerate(self.requests) if call in row)
            for call in ("lock", "files_write")
        )
        return list(self.requests[first : last + 1])

    def table(self, steps: Sequence[str]) -> str:
        """A line a step that there was."""
        lines = [f"{'step':20} {'ms near':>8} {'round trips':>12}  requests"]
        for step in steps:
            if step in self.near:
                asked = bracketed([row for where, row in self.requests if where == step])
                lines.append(f"{step:20} {self.near[step] * 1000:8.1f} {self.of(step):12.1f}  {asked}")
        return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    args = arguments(argv)
    delay_s = args.delay_ms / 1000
    with (
        booted("gpu1") as host,
        relay(host.address, 22, delay_s) as port,
        tempfile.TemporaryDirectory() as name,
    ):
        directory = Path(name)
        targets = describe(host, directory, port)
        login = pairs(lambda place: logged_in(targets[place]), args.repeats, 2 * delay_s)
        laying.lay(host)
        plan = pairs(lambda place: acted(directory, "plan", place), args.repeats, 2 * delay_s)
        print(told_plan(login, plan), flush=True)
        acted(directory, "deploy", "near")  # the first of all also saves what it finds, with one request more
        deploy = pairs(lambda place: deployed_anew(directory, place), args.repeats, 2 * delay_s)
        print(told_apply(deploy), flush=True)
        print(told_back([rolled_back(host, directory) for _ in range(args.repeats)]))
    return 0


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--delay-ms", type=float, default=50.0)
    return parser.parse_args(argv)


# ------------------------------------------------------------------ what is measured


def describe(host: TestHost, directory: Path, port: int) -> dict[str, SshTarget]:
    """The host files `near` and `far`, the same host once straight and once over the relay; the logins of both."""
    known = directory / "known_hosts"
    kept = host.known_hosts.read_text()
    known.write_text(f"{kept}[127.0.0.1]:{port} {kept.split(maxsplit=1)[1]}")
    (directory / "hosts").mkdir()
    login = laying.ssh_of(host) | {"known_hosts": str(known)}
    for name, ssh_ in (("near", login), ("far", login | {"address": "127.0.0.1", "port": port})):
        (directory / "hosts" / f"{name}.yml").write_text(laying.host_file(host, ssh=ssh_))
    return {
        name: SshTarget(address, "root", at, key=str(host.key), known_hosts=str(known), config="none")
        for name, address, at in (("near", host.address, 22), ("far", "127.0.0.1", port))
    }


def pairs(run: Callable[[str], Heard], repeats: int, round_trip_s: float) -> Trips:
    """Near and far in turn; the first pair loads modules and is thrown away."""
    runs = [(run("near"), run("far")) for _ in range(repeats + 1)][1:]
    near, far = shortest([one for one, _ in runs]), shortest([two for _, two in runs])
    return Trips(near, far, round_trip_s, runs[-1][0].requests)


def shortest(runs: Sequence[Heard]) -> Steps:
    return {step: min(run.steps[step] for run in runs) for step in runs[0].steps}


def logged_in(target: SshTarget) -> Heard:
    started = time.perf_counter()
    with ssh.connect(target):
        return Heard({LOGIN: time.perf_counter() - started})


def deployed_anew(directory: Path, place: str) -> Heard:
    """A deploy of two files to a host that keeps releases already."""
    acted(directory, "rollback", "near")
    return acted(directory, "deploy", place)


def acted(directory: Path, action: str, place: str) -> Heard:
    heard, said = Heard(), io.StringIO()
    request = Request(
        action, (place,), Options(skip_validation=True), yes=True, json=True, directory=directory
    )
    with contextlib.redirect_stdout(said):
        code = app.run(request, listeners=[heard])
    if code:
        sys.exit(f"{action} of {place} ended with exit {code}: {said.getvalue()[-2000:]}")
    return heard


def rolled_back(host: TestHost, directory: Path) -> float:
    """Seconds from the start of `rollback` until the host's disk holds the bytes of before the deploy."""
    script = host.machine.record.root / laying.script("decode").lstrip("/")
    started = time.perf_counter()
    process = Controller(directory, {}).start("rollback", "--host", "near", "--yes", "--json")
    seconds = until_back(script, laying.before("decode"), started)
    said, _ = process.communicate(timeout=_BACK_WITHIN_S)
    if process.returncode:
        sys.exit(f"rollback ended with exit {process.returncode}: {said.decode()[-2000:]}")
    acted(directory, "deploy", "near")
    return seconds


def until_back(script: Path, old: bytes, started: float) -> float:
    while script.read_bytes() != old:
        if time.perf_counter() - started > _BACK_WITHIN_S:
            sys.exit(f"{script} did not come back within {_BACK_WITHIN_S:g} s")
        time.sleep(0.002)
    return time.perf_counter() - started


# ------------------------------------------------------------------ what is told of it


def bracketed(requests: Sequence[Sequence[str]]) -> str:
    return " ".join(f"[{' '.join(calls)}]" for calls in requests)


def told_plan(login: Trips, plan: Trips) -> str:
    logged_in, more = login.of(LOGIN), plan.of(*PLAN) - login.of(LOGIN)
    asked = f"plan = log in ({logged_in:.1f}) + {more:.1f} round trips (asked: at most {ASKED_PLAN})"
    return f"{asked}\n{plan.table(PLAN)}\n"


def told_apply(deploy: Trips) -> str:
    """What the helper is asked until both files are written; preflight's HTTP comes besides, and is told as what is left."""
    requests = deploy.until_written()
    between = [row for step, row in requests if not step]
    http = deploy.of(*APPLY) - (len(requests) - len(between))
    return (
        f"apply of 2 files = {len(requests)} requests more (asked: at most {ASKED_APPLY}), "
        f"besides {http:.1f} round trips of preflight's HTTP\n{deploy.table(APPLY)}\n"
        f"between steps: {bracketed(between) or 'nothing'}\n"
    )


def told_back(seconds: Sequence[float]) -> str:
    spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
    return f"rollback: old bytes back {statistics.median(seconds):.2f} s after Enter ({spread}; asked: at most {ASKED_BACK_S})"


if __name__ == "__main__":
    sys.exit(main())
