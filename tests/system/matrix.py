"""The fault matrix: every step of a deploy and of a rollback, struck by every fault, and what must hold afterwards."""

from __future__ import annotations

import json
import queue
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.system.boot.commands import ProgramFailed
from tests.system.faults import HELPER
from tests.system.operators import Operator
from tests.system.service import laying

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from tests.system.faults import Fault
    from tests.system.hosts import TestHost
    from tests.system.operators import Command, Ended

ACTIONS = ("deploy", "rollback")
FREE_WITHIN_S = 60.0
_ROLES = ("prefill", "decode")


@dataclass(frozen=True, slots=True)
class Cell:
    """A step of an action, by its place in the event stream, and what strikes as it begins."""

    action: str
    index: int
    step: str
    fault: Fault

    def __str__(self) -> str:
        return f"{self.action} at {self.index} {self.step!r}: {self.fault.name}"


@dataclass(frozen=True, slots=True)
class Bench:
    """A host and an operator to play cells with, and the bytes a deploy starts from and ends in."""

    host: TestHost
    operator: Operator

    @classmethod
    def at(cls, host: TestHost, directory: Path) -> Bench:
        operator = Operator(directory / host.name)
        operator.describe(host.name, laying.host_file(host))
        return cls(host, operator)

    def start(self, action: str, *, held: bool = False) -> Command:
        return self.operator.start(action, self.host.name, held=held, **_options(action))

    def run(self, action: str) -> Ended:
        return self.operator.run(action, self.host.name, **_options(action))

    def prepare(self, action: str) -> None:
        """The state the action starts from: for a rollback, a deploy that went well."""
        laying.lay(self.host)
        if action == "rollback":
            assert self.run("deploy").code == 0


def _options(action: str) -> dict[str, Any]:
    return {"skip_validation": True} if action == "deploy" else {}


def steps(bench: Bench, action: str) -> list[str]:
    """The steps of an undisturbed run, as the event stream tells them."""
    bench.prepare(action)
    command = bench.start(action, held=True)
    names = list(command.steps())
    assert command.end().code == 0
    return names


def cells(steps_of: dict[str, list[str]], faults: Sequence[Fault]) -> list[Cell]:
    """Every cell, in the order of the steps."""
    return [
        Cell(action, index, name, fault)
        for action, names in steps_of.items()
        for index, name in enumerate(names)
        for fault in faults
    ]


def sample(every: Sequence[Cell], faults: Sequence[Fault]) -> list[Cell]:
    """One cell a step, the faults taken in turn, so that each step and each fault is there."""
    turns = {fault.name: turn for turn, fault in enumerate(faults)}
    places: dict[tuple[str, int], int] = {}
    for cell in every:
        places.setdefault((cell.action, cell.index), len(places))
    wanted = len(faults)
    return [cell for cell in every if places[cell.action, cell.index] % wanted == turns[cell.fault.name]]


def table(found: Mapping[Cell, Sequence[str]]) -> str:
    """A row a step, a column a fault: `held` or FAILED; at the end how many of each."""
    faults = list(dict.fromkeys(cell.fault.name for cell in found))
    rows: dict[tuple[str, int, str], dict[str, str]] = {}
    for cell, problems in found.items():
        row = rows.setdefault((cell.action, cell.index, cell.step), {})
        row[cell.fault.name] = "FAILED" if problems else "held"
    failed = sum(map(bool, found.values()))
    lines = [
        " | ".join((f"{action} {index} {step}", *(row.get(fault, "") for fault in faults)))
        for (action, index, step), row in sorted(rows.items())
    ]
    total = f"{len(rows)} steps x {len(faults)} faults: {len(found) - failed} held, {failed} failed"
    return "\n".join((" | ".join(("step", *faults)), *lines, total))


def play_all(wanted: Iterable[Cell], benches: Sequence[Bench]) -> dict[Cell, list[str]]:
    """Play every cell on whichever bench is free; what did not hold, by cell."""
    free: queue.SimpleQueue[Bench] = queue.SimpleQueue()
    for bench in benches:
        free.put(bench)

    def one(cell: Cell) -> tuple[Cell, list[str]]:
        bench = free.get()
        try:
            return cell, play(cell, bench)
        finally:
            free.put(bench)

    # The slow ones first: they only wait.
    ordered = sorted(wanted, key=lambda cell: not cell.fault.slow)
    with ThreadPoolExecutor(len(benches)) as pool:
        return dict(pool.map(one, ordered))


def play(cell: Cell, bench: Bench) -> list[str]:
    """Strike one step, then hold what must hold; the list says what did not."""
    try:
        bench.prepare(cell.action)
        ended = _struck(cell, bench)
        return list(_problems(cell, bench, ended))
    except (AssertionError, ProgramFailed, TimeoutError, RuntimeError) as error:
        return [f"{type(error).__name__}: {error}"]


def _struck(cell: Cell, bench: Bench) -> Ended:
    command = bench.start(cell.action, held=True)
    for index, _ in enumerate(command.steps()):
        if index == cell.index:
            with cell.fault.strikes(bench.host, command):
                return command.end()
    raise AssertionError(f"there was no step {cell.index}: {command.end().stderr}")


def _problems(cell: Cell, bench: Bench, ended: Ended) -> Iterable[str]:
    host = bench.host
    if ended.code not in cell.fault.codes | {0}:
        yield f"exit code {ended.code}: {ended.document.get('error')} {ended.stderr[-500:]}"
    mixed = [role for role in _ROLES if host.read(laying.script(role)) not in _known(role)]
    if mixed:
        yield f"neither old nor new bytes: {mixed}"
    waited = _until(lambda: not _at_work(host))
    if waited is None:
        yield f"after {FREE_WITHIN_S:g} s still there: {_at_work(host)}"
    inflight = _inflight(bench)
    if ended.code != 0 and _touched(cell, host) and not inflight:
        yield "files were changed, and status tells of no interrupted rollout"
    yield from _settled(cell, bench, inflight)


def _inflight(bench: Bench) -> dict[str, Any] | None:
    """What status tells of an interrupted rollout."""
    seen = bench.run("status")
    assert seen.document.get("status"), (
        f"status exits {seen.code}: {seen.document.get('error')} {seen.stderr[-500:]}"
    )
    found: dict[str, Any] | None = seen.document["status"]["inflight"]
    return found


def _known(role: str) -> tuple[bytes, bytes]:
    return laying.before(role), laying.after(role)


def _touched(cell: Cell, host: TestHost) -> bool:
    start = laying.before if cell.action == "deploy" else laying.after
    return any(host.read(laying.script(role)) != start(role) for role in _ROLES)


def _at_work(host: TestHost) -> str:
    """Helpers, wardens and the holder of the lock; empty when there is none."""
    found = host.sh(f"pgrep -af '{HELPER}' || true; cd {laying.STATE} 2>/dev/null || exit 0; "
                    "test ! -e lock || flock --nonblock lock true || echo the lock is held")  # fmt: skip
    return "\n".join(line for line in found.splitlines() if "pgrep" not in line)


def _until(holds: Callable[[], bool]) -> float | None:
    """Seconds until it held, None where it did not within a minute."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > FREE_WITHIN_S:
            return None
        time.sleep(0.2)
    return time.monotonic() - began


def _settled(cell: Cell, bench: Bench, inflight: dict[str, Any] | None) -> Iterable[str]:
    """The next rollout ends right: a rollback where there is something to undo, turn about with a deploy."""
    host = bench.host
    action = "rollback" if inflight and cell.index % 2 == (cell.action == "deploy") else "deploy"
    after = bench.run(action)
    if after.code != 0:
        yield f"the next {action} exits {after.code}: {after.document.get('error')} {after.stderr[-500:]}"
        return
    wanted = laying.after if action == "deploy" else laying.before
    yield from (
        f"after the next {action} {role}'s script is wrong"
        for role in _ROLES
        if host.read(laying.script(role)) != wanted(role)
    )
    yield from (f"after the next {action} {role} runs {laying.running(host, role)}"
                for role in _ROLES if laying.running(host, role) != laying.exported(wanted(role)))  # fmt: skip
    if left := host.sh("find /root -name '.*.runbook-*'").split():
        yield f"left behind: {left}"
    if _inflight(bench):
        yield f"the next {action} did not settle what was interrupted"
    audit = laying.audit(host)
    if inflight and not any(inflight["rollout"] in json.dumps(record) for record in audit):
        yield f"no audit record tells of {inflight['rollout']}"
    if not any(record["id"] == after.rollout for record in audit):
        yield f"no audit record of the next {action}"
