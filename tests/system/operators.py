"""Operators at their laptops: each command is a process of its own, held at every step for whatever shall befall it there.

The processes are forked from one that has everything imported already, which saves their half second of start.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook import app
from runbook.events import StepStarted
from runbook.options import Options
from runbook.request import Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkServerContext, ForkServerProcess
    from pathlib import Path

    from runbook.events import Event, Listener

_PRELOADED = ["tests.system.operators", "runbook.ssh.link", "runbook.console", "fabric", "pytest"]
# What multiprocessing says of an exit that its fork server did not tell it of: seen once in a thousand.
UNHEARD = 255


def forks() -> ForkServerContext:
    """Where processes come from; its server starts with the first of them and ends with the tests."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code (below 0: the signal that ended it), its document if it printed one, its stderr."""

    code: int
    document: Mapping[str, Any]
    stderr: str

    @property
    def rollout(self) -> str:
        return str(self.document.get("rollout", ""))

    @property
    def steps(self) -> list[str]:
        return [step["name"] for step in self.document.get("steps", ())]


@dataclass(frozen=True, slots=True)
class Command:
    """A command at work. `steps` yields each step's name as it begins and holds the command until asked for the next."""

    process: ForkServerProcess
    held: Connection | None
    said: Path
    struck: list[int] = field(default_factory=list)
    """The signals that it was sent."""

    def steps(self) -> Iterator[str]:
        """Each step as it begins; the step goes on when the next one is asked for, or the command is let go."""
        assert self.held is not None
        while True:
            try:
                name = self.held.recv()
            except EOFError:
                return
            yield name
            self._go()

    def let_go(self) -> None:
        """Hold it no more."""
        if self.held is not None:
            self.held.close()

    def end(self, timeout_s: float = 150.0) -> Ended:
        """Wait until it has ended."""
        self.let_go()
        self.process.join(timeout_s)
        assert self.process.exitcode is not None, f"still at work after {timeout_s:g} s: {self._text('err')}"
        out = self._text("out")
        document = json.loads(out) if out.strip() else {}
        code = self.process.exitcode
        if code == UNHEARD:
            code = document.get("exit_code", -self.struck[-1] if self.struck else code)
        return Ended(code, document, self._text("err"))

    def signal(self, number: int) -> None:
        assert self.process.pid is not None
        self.struck.append(number)
        os.kill(self.process.pid, number)

    def _go(self) -> None:
        assert self.held is not None
        try:
            self.held.send(None)
        except OSError:
            return

    def _text(self, stream: str) -> str:
        return self.said.with_suffix(f".{stream}").read_text(errors="replace")


@dataclass
class Operator:
    """One operator's directory, with hosts/ in it. `environ` comes over that of the tests."""

    directory: Path
    environ: dict[str, str] = field(default_factory=dict)
    _started: int = 0

    def describe(self, name: str, text: str) -> None:
        """Write a host file."""
        path = self.directory / "hosts" / f"{name}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def start(self, action: str, host: str, *, held: bool = False, **options: Any) -> Command:
        """Start a command without a terminal, confirmed; `options` are rollout.Options."""
        self._started += 1
        said = self.directory / f"{self._started:04d}-{action}"
        ours, theirs = multiprocessing.Pipe() if held else (None, None)
        process = forks().Process(
            target=_operate, args=(self.directory, self.environ, said, theirs, action, host, options)
        )
        process.start()
        if theirs is not None:
            theirs.close()
        return Command(process, ours, said)

    def run(self, action: str, host: str, **options: Any) -> Ended:
        """Run a command to its end."""
        return self.start(action, host, **options).end()


def _operate(
    directory: Path,
    environ: Mapping[str, str],
    said: Path,
    held: Connection | None,
    action: str,
    host: str,
    options: Mapping[str, Any],
) -> None:
    os.setsid()
    os.chdir(directory)
    os.environ.update(environ)
    _redirect(said)
    request = Request(action, (host,), Options(**options), yes=True, json=True, directory=directory)
    code = app.run(request, listeners=[_holding(held)] if held else [])
    sys.stdout.flush()
    sys.exit(code)


def _redirect(said: Path) -> None:
    for number, name in enumerate((os.devnull, f"{said}.out", f"{said}.err")):
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = open(0)  # noqa: SIM115 - the three standard streams live as long as the process
    sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115


def _holding(held: Connection) -> Listener:
    """A listener that does not return from a step's beginning before it is told to, or nobody is left to tell it."""

    def hold(event: Event) -> None:
        if isinstance(event, StepStarted):
            with contextlib.suppress(EOFError, OSError):
                held.send(event.name)
                held.recv()

    return hold
