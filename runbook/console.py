"""What a person sees: a live view on a terminal, one timestamped line an event anywhere else."""

from __future__ import annotations

import datetime
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from runbook import lines
from runbook.events import Found, Note, Progress, Showed, StepEnded, StepStarted
from runbook.text import clean, one_line
from runbook.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from runbook.events import Event, Listener

STYLES = {
    Outcome.PASS: "green",
    Outcome.FAIL: "bold red",
    Outcome.ERROR: "bold red",
    Outcome.INCONCLUSIVE: "yellow",
}
MARKS = {Outcome.PASS: "✓", Outcome.FAIL: "✗", Outcome.ERROR: "✗", Outcome.INCONCLUSIVE: "?"}
PLAIN_MARKS = {
    Outcome.PASS: "ok",
    Outcome.FAIL: "FAIL",
    Outcome.ERROR: "ERROR",
    Outcome.INCONCLUSIVE: "INCONCLUSIVE",
}


def open_console(stream: TextIO | None = None) -> Console:
    """A console that shows text as it is: no markup, no emoji codes, no highlighting."""
    return Console(file=stream or sys.stdout, markup=False, emoji=False, highlight=False, soft_wrap=True)


def listener(console: Console, *, verbose: bool = False) -> Listener:
    """The view that fits the console: live on a terminal, plain lines elsewhere."""
    return (
        Live(console)
        if console.is_terminal and not console.is_dumb_terminal
        else Plain(console, verbose=verbose)
    )


class Plain:
    """One timestamped line per event, for logs and pipes. Progress is told when its text changes kind, not each time."""

    def __init__(
        self, console: Console, *, verbose: bool = False, now: Callable[[], datetime.datetime] | None = None
    ) -> None:
        self._console, self._verbose = console, verbose
        self._now = now or (lambda: datetime.datetime.now(datetime.UTC))

    def __call__(self, event: Event) -> None:
        for line in self._lines(event):
            self._console.print(f"{self._now():%H:%M:%S} {line}")

    def _lines(self, event: Event) -> list[str]:
        match event:
            case StepStarted():
                return [f"{event.name} …"]
            case Progress():
                return [f"{event.step}: {one_line(event.text)}"]
            case StepEnded():
                return [_ended(event, PLAIN_MARKS)]
            case Note():
                return [f"note: {one_line(event.text)}"]
            case Found():
                return [_found(event, PLAIN_MARKS)]
            case Showed():
                return lines.of(event.kind, event.value)


class Live:
    """Steps with a spinner, their elapsed time and what they last said; what has ended stays on screen."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __call__(self, event: Event) -> None:
        match event:
            case StepStarted():
                self._start(event)
            case Progress():
                self._progress(event)
            case StepEnded():
                self._stop()
                self._console.print(
                    _ended(event, MARKS),
                    style=STYLES[event.outcome] if event.outcome is not Outcome.PASS else "",
                )
            case Note():
                self._console.print(f"· {one_line(event.text)}", style="dim")
            case Found():
                if event.finding.outcome is not Outcome.PASS:
                    self._console.print(_found(event, MARKS), style=STYLES[event.finding.outcome])
            case Showed():
                self._show(event)

    def _start(self, event: StepStarted) -> None:
        self._stop()
        budget = f"of {event.budget_s:.0f} s" if event.budget_s else ""
        self._bar = Bar(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.fields[budget]} {task.fields[said]}", markup=False, style="dim"),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task(event.name, total=None, budget=budget, said="")
        self._bar.start()

    def _progress(self, event: Progress) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, said=one_line(event.text, 160))

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = None

    def _show(self, event: Showed) -> None:
        for line in lines.of(event.kind, event.value):
            self._console.print(Text(line, style=lines.style(event.kind, line)))


def _ended(event: StepEnded, marks: dict[Outcome, str]) -> str:
    detail = f"  {one_line(event.detail)}" if event.detail else ""
    return f"{marks[event.outcome]} {event.name}  {event.duration_s:.1f} s{detail}"


def _found(event: Found, marks: dict[Outcome, str]) -> str:
    finding = event.finding
    excerpt = clean(str(finding.evidence.get("journal", ""))).rstrip()
    tail = "".join(f"\n    {line}" for line in excerpt.splitlines())
    return f"{marks[finding.outcome]} {finding.check}: {one_line(finding.message, 800)}{tail}"


def summary(console: Console, document: dict[str, Any]) -> None:
    """The last lines of a rollout: verdict, what was measured, release, audit id, and how to go back."""
    outcome = Outcome(document["outcome"])
    for line in lines.summary(document):
        console.print(Text(line, style=STYLES[outcome] if line.startswith(document["action"]) else ""))
