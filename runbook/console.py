"""What a person at a terminal sees: steps with a spinner and their time, what they last said, and what has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from runbook import lines
from runbook.events import Found, Note, Progress, Showed, StepEnded, StepStarted
from runbook.text import one_line
from runbook.verdict import Outcome, is_warning

if TYPE_CHECKING:
    from typing import TextIO

    from runbook.events import Event
    from runbook.verdict import Finding

STYLES = {
    Outcome.PASS: "",
    Outcome.FAIL: "bold red",
    Outcome.ERROR: "bold red",
    Outcome.INCONCLUSIVE: "yellow",
}


def open_console(stream: TextIO) -> Console:
    """A console that shows text as it is: no markup, no emoji codes, no highlighting, no wrapping of long lines."""
    return Console(file=stream, markup=False, emoji=False, highlight=False, soft_wrap=True)


class Live:
    """A listener that draws on a terminal."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console, self._verbose = console, verbose
        self._marks = lines.WORDS if console.options.ascii_only else lines.MARKS
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
                self._print([lines.ended(event, self._marks)], STYLES[event.outcome])
            case Note():
                self._print([f"· {one_line(event.text)}"], "dim")
            case Found():
                self._found(event.finding)
            case Showed():
                for line in lines.of(event.kind, event.value):
                    self._print([line], lines.style(event.kind, line))

    def _found(self, finding: Finding) -> None:
        if is_warning(finding):
            self._print(lines.found(finding, self._marks), "yellow")
        elif self._verbose or finding.outcome is not Outcome.PASS:
            self._print(lines.found(finding, self._marks), STYLES[finding.outcome])

    def _print(self, texts: list[str], style: str) -> None:
        for text in texts:
            self._console.print(Text(text, style=style))

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
        if self._verbose:
            self._print([f"  {event.step}: {one_line(event.text)}"], "dim")
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, said=one_line(event.text, 160))

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = None
