"""What a person at a terminal sees: the step in progress with its time and counts, and what has ended."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live as Display
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from runbook import lines, shipped, stepline
from runbook.events import Called, Ended, Found, Note, Progress, Showed, StepEnded, StepStarted
from runbook.text import clean, folded, sentence
from runbook.verdict import Outcome, is_warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TextIO

    from rich.console import ConsoleOptions, RenderResult

    from runbook.events import Event
    from runbook.verdict import Finding

STYLES = {
    Outcome.PASS: "",
    Outcome.FAIL: "bold red",
    Outcome.ERROR: "bold red",
    Outcome.INCONCLUSIVE: "yellow",
}
BORDERS = {**STYLES, Outcome.PASS: "green"}
FRAMES_A_SECOND = 8


def open_console(stream: TextIO) -> Console:
    """A console that shows text as it is: no markup, no emoji codes, no highlighting, no wrapping of long lines."""
    return Console(file=stream, markup=False, emoji=False, highlight=False, soft_wrap=True)


class Live:
    """A listener that draws on a terminal. `clock` returns seconds."""

    def __init__(
        self, console: Console, *, verbose: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console, self._verbose, self._clock = console, verbose, clock
        self._marks = lines.WORDS if console.options.ascii_only else lines.MARKS
        self._frame: Frame | None = None
        self._display: Display | None = None

    def __call__(self, event: Event) -> None:
        match event:
            case StepStarted():
                self._start(event)
            case Progress():
                self._progress(event)
            case StepEnded():
                self._stop()
                self._say(lines.ended(event, self._marks), STYLES[event.outcome])
            case Note():
                self._say(f"· {sentence(event.text)}", "dim")
            case Found():
                self._found(event.finding)
            case Showed():
                self._show(event)
            case Called():
                self._called(event)
            case Ended():
                pass  # the view sums it up

    def hold(self) -> None:
        """Stop drawing until the next step begins: somebody is asked something."""
        self._stop()

    def _found(self, finding: Finding) -> None:
        warning = is_warning(finding)
        if warning or self._verbose or finding.outcome is not Outcome.PASS:
            told, *excerpt = lines.found(finding, self._marks)
            self._say(told, "yellow" if warning else STYLES[finding.outcome])
            for line in excerpt:
                self._say(line, "dim")

    def _show(self, event: Showed) -> None:
        for line in lines.of(event.kind, event.value, width=self._console.width):
            show = self._say if lines.is_prose(event.kind, line) else self._line
            show(line, lines.style(event.kind, line))

    def _called(self, event: Called) -> None:
        if self._verbose:
            call, *programs = lines.called(event)
            self._say(call, "dim" if event.error is None else "yellow")
            self._print(programs, "dim")

    def _say(self, text: str, style: str) -> None:
        """Prose, folded between words to the terminal's width."""
        self._print(folded(text, self._console.width), style)

    def _line(self, text: str, style: str) -> None:
        """A line that means what it is: a diff's, a log's, a table's."""
        self._console.print(Text(text, style=style))

    def _print(self, texts: Iterable[str], style: str) -> None:
        for text in texts:
            self._line(text, style)

    def _start(self, event: StepStarted) -> None:
        self._stop()
        doing = stepline.Doing(event.name, event.budget_s)
        self._frame = Frame(doing, self._clock, plain=self._console.options.ascii_only)
        self._display = Display(
            self._frame, console=self._console, transient=True, refresh_per_second=FRAMES_A_SECOND
        )
        self._display.start()

    def _progress(self, event: Progress) -> None:
        if self._verbose:
            self._say(f"  {event.step}: {sentence(event.text)}", "dim")
        if self._frame is not None:
            self._frame.say(event)

    def _stop(self) -> None:
        if self._display is not None:
            self._display.stop()
        self._display = self._frame = None


class Frame:
    """The step in progress, drawn anew at each refresh: a spinner with its time, below it what it counts."""

    def __init__(self, doing: stepline.Doing, clock: Callable[[], float], *, plain: bool) -> None:
        self.doing = doing
        self._clock, self._started = clock, clock()
        self._spinner = Spinner("line" if plain else "dots")

    def say(self, event: Progress) -> None:
        fields = {**self.doing.fields, **event.fields}
        self.doing = self.doing._replace(said=event.text, fields=fields)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        doing, width = self.doing, options.max_width - 2
        line = Table.grid(padding=(0, 1, 0, 0))
        first = stepline.first(doing, self._clock() - self._started, width)
        line.add_row(self._spinner, Text(first, style="bold", no_wrap=True))
        yield line
        style = "bold red" if stepline.is_bad(doing.fields) else "dim"
        for said in stepline.below(doing, width):
            yield Text(f"  {said}", style=style, no_wrap=True, overflow="crop")


def closing(console: Console, outcome: Outcome, texts: list[str]) -> None:
    """The last panel: rules above and below in the outcome's colour, none beside it, so that commands can be copied."""
    colour = BORDERS[outcome]
    rule = Text("─" * console.width, style=colour)
    headline, *rest = (clean(text) for text in texts)
    console.print(rule)
    console.print(Text("\n".join(folded(headline, console.width)), style=f"bold {colour}"))
    for text in rest:
        console.print(Text("\n".join(_unless_command(text, console.width))))
    console.print(rule)


def _unless_command(text: str, width: int) -> list[str]:
    """A command stays on one line, however long: it is there to be copied."""
    return [text] if text.lstrip().startswith(shipped.command()) else folded(text, width)
