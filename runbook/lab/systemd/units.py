"""The units of the lab at work: their states, their timers and the processes behind them."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.lab.processes import identify_all
from runbook.lab.systemd import ledger
from runbook.lab.systemd import service as machine
from runbook.lab.systemd.activation import Activation, Command
from runbook.lab.systemd.command import command_of, environment_of
from runbook.lab.systemd.exits import CLD_KILLED
from runbook.lab.systemd.journal import Journal, Record
from runbook.lab.systemd.service import Service
from runbook.lab.systemd.transitions import step
from runbook.lab.systemd.unitfile import UnitFile, load_unit, names_in, needs_reload

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MANAGER = "systemd[1]"


@dataclass(slots=True, eq=False)
class _Slot:
    """A unit, its current activation, its timer, and who waits for its job."""

    service: Service
    activation: Activation | None = None
    timer: asyncio.TimerHandle | None = None
    waiters: list[asyncio.Future[str]] = field(default_factory=list)


class Units:
    """Loads units from `directory` and runs them.

    `ledger_path` is a file that names the processes of the running activations. `environ` is what systemd calls
    the manager's environment.
    """

    def __init__(
        self, directory: Path, journal: Journal, ledger_path: Path, environ: Mapping[str, str]
    ) -> None:
        self._directory = directory
        self._journal = journal
        self._ledger_path = ledger_path
        self.environ = dict(environ)
        self._slots: dict[str, _Slot] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: dict[Activation, ledger.Entry] = {}

    # ---------------------------------------------------------------- asked from outside

    def get(self, name: str) -> Service:
        """The unit of that name, read from its file when it was not known yet."""
        return self._slot(name).service

    def stale(self, name: str) -> bool:
        """Whether the unit's files changed since they were read."""
        return needs_reload(self._directory, self.get(name).unit)

    def reload(self) -> None:
        """Read every unit file again; running units keep their state."""
        for name, slot in tuple(self._slots.items()):
            unit = load_unit(self._directory, name)
            if unit.load_state == "not-found" and slot.service.active in ("inactive", "failed"):
                del self._slots[name]
            slot.service = replace(slot.service, unit=unit)

    def names(self) -> tuple[str, ...]:
        """Every unit there is, in name order."""
        return names_in(self._directory)

    def enabled(self) -> tuple[str, ...]:
        """The units that start with the machine, in their start order."""
        loaded = [self.get(name).unit for name in names_in(self._directory)]
        return start_order(unit for unit in loaded if unit.wanted_by)

    async def ask(self, name: str, verb: machine.Verb) -> str:
        """Have a job done and wait for its end: done, failed or canceled. Two who want the same share a job."""
        slot = self._slot(name)
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if slot.service.job == verb:
            slot.waiters.append(done)
        else:
            self._finish(slot, "canceled")
            slot.waiters.append(done)
            self._happen(slot, machine.Asked(verb))
        return await done

    def reset_failed(self, name: str) -> None:
        self._happen(self._slot(name), machine.ResetFailed())

    def kill(self, name: str, signal: int, who: str) -> bool:
        """Send a signal to a unit's processes; False where it has none."""
        slot = self._slot(name)
        if slot.activation is None or not slot.service.alive:
            return False
        slot.activation.send(signal, who)
        return True

    async def stop_all(self) -> None:
        """Stop every unit, all at once, and wait until nothing of them is left."""
        await asyncio.gather(*(self.ask(name, "stop") for name in tuple(self._slots)))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)

    # ---------------------------------------------------------------- turns

    def _slot(self, name: str) -> _Slot:
        slot = self._slots.get(name)
        if slot is None:
            slot = _Slot(Service(load_unit(self._directory, name)))
            if slot.service.unit.load_state != "not-found":
                self._slots[name] = slot
        return slot

    def _happen(self, slot: _Slot, event: machine.Event) -> None:
        at = machine.Moment(time.monotonic_ns() // 1000, uuid.uuid4().hex)
        slot.service, actions = step(slot.service, event, at)
        for action in actions:
            self._perform(slot, action)

    def _perform(self, slot: _Slot, action: machine.Action) -> None:
        match action:
            case machine.Log(text):
                self._log(slot.service.unit.name, _MANAGER, text)
            case machine.Finish(result):
                self._finish(slot, result)
            case machine.Wait(seconds):
                self._set_timer(slot, seconds)
            case machine.Kill(signal, who):
                if slot.activation:
                    slot.activation.send(signal, who)
            case machine.Spawn():
                self._spawn(slot)

    def _finish(self, slot: _Slot, result: str) -> None:
        waiters, slot.waiters = slot.waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(result)

    def _set_timer(self, slot: _Slot, seconds: float | None) -> None:
        if slot.timer:
            slot.timer.cancel()
        slot.timer = None
        if seconds is not None and seconds != float("inf"):
            loop = asyncio.get_running_loop()
            slot.timer = loop.call_later(seconds, self._happen, slot, machine.Elapsed())

    def _log(self, unit: str, source: str, text: str) -> None:
        # As with journald, a full disk costs lines of the journal and nothing else.
        with contextlib.suppress(OSError):
            self._journal.append(unit, Record(time.time_ns() // 1000, source, text))

    # ---------------------------------------------------------------- processes

    def _spawn(self, slot: _Slot) -> None:
        """Replace the slot's activation at once: what the old one still reports is then known as its."""
        unit = slot.service.unit
        activation = slot.activation = Activation(
            lambda report: self._reported(slot, activation, report),
            lambda line: self._log(unit.name, f"{Path(unit.argv[0]).name}[{slot.service.exec_pid}]", line),
        )
        task = asyncio.get_running_loop().create_task(self._activate(slot, activation))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _activate(self, slot: _Slot, activation: Activation) -> None:
        """One activation from its start to the death of its last process."""
        unit = slot.service.unit
        try:
            await activation.run(self._command(slot.service))
        except OSError as error:
            self._log(unit.name, _MANAGER, f"{unit.name}: Failed to set up the start: {error}")
        await self._shim_gone(slot, activation)

    def _command(self, service: Service) -> Command:
        unit = service.unit
        environ = {**self.environ, **environment_of(unit), "INVOCATION_ID": service.invocation}
        return Command(command_of(unit, environ), environ, unit.working_directory)

    def _reported(self, slot: _Slot, activation: Activation, report: dict[str, Any]) -> None:
        if "spawned" in report:
            pids = (activation.shim_pid, int(report["spawned"]))
            self._running[activation] = ledger.Entry(
                slot.service.unit.name, slot.service.invocation, identify_all(pids)
            )
            self._keep_ledger()
        if activation is slot.activation:  # what an older one still reports is no news (KillMode=process)
            self._happen(slot, _event_of(report))

    def _keep_ledger(self) -> None:
        with contextlib.suppress(OSError):
            ledger.write(self._ledger_path, self._running.values())

    async def _shim_gone(self, slot: _Slot, activation: Activation) -> None:
        entry = self._running.pop(activation, None)
        self._keep_ledger()
        if activation is not slot.activation:
            return
        slot.activation = None
        if slot.service.alive and entry:  # it has told no end, so it was killed
            self._log(entry.unit, _MANAGER, "The shim above the unit is gone; its processes go too.")
            await asyncio.to_thread(ledger.end_entry, entry)
            self._happen(slot, machine.MainExited(CLD_KILLED, 9, empty=True))
        elif slot.service.alive:
            self._happen(slot, machine.Unprepared())


def _event_of(report: Mapping[str, Any]) -> machine.Event:
    if "spawned" in report:
        return machine.Spawned(report["spawned"])
    if "executed" in report:
        return machine.Executed()
    if "exited" in report:
        code, status = report["exited"]
        return machine.MainExited(code, status, report["empty"])
    return machine.Emptied()


def start_order(units: Iterable[UnitFile]) -> tuple[str, ...]:
    """Names so that each stands behind those in its After= that are among them; a cycle is cut where it closes."""
    known = {unit.name: unit for unit in units}
    ordered: dict[str, None] = {}

    def place(name: str, above: frozenset[str]) -> None:
        for earlier in known[name].after:
            if earlier in known and earlier not in above:
                place(earlier, above | {name})
        ordered.setdefault(name)

    for name in known:
        place(name, frozenset({name}))
    return tuple(ordered)
