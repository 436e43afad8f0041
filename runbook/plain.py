"""The view for logs, pipes and CI: one timestamped line an event."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from runbook import lines
from runbook.events import Called, Ended, Found, Note, Progress, Showed, StepEnded, StepStarted
from runbook.text import one_line, sentence
from runbook.verdict import Outcome, is_warning

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from runbook.events import Event


def utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Plain:
    """Writes events to `stream`. Without `verbose` what begins and what passes stays unsaid; progress is told as it changes.

    What was asked for itself, a status, a table or logs, is not stamped: it is there to be piped on.
    """

    def __init__(
        self, stream: TextIO, *, verbose: bool = False, now: Callable[[], datetime.datetime] = utc_now
    ) -> None:
        self._stream, self._verbose, self._now = stream, verbose, now
        self._said = ""

    def __call__(self, event: Event) -> None:
        unstamped = isinstance(event, Showed) and event.kind in lines.SCREENS
        moment = "" if unstamped else f"{self._now():%H:%M:%S} "
        for line in self._lines(event):
            print(f"{moment}{line}", file=self._stream, flush=True)

    def _lines(self, event: Event) -> list[str]:
        match event:
            case StepStarted():
                return [f"{one_line(event.name)} …"] if self._verbose else []
            case Progress():
                return self._progress(event)
            case StepEnded():
                return [lines.ended(event, lines.WORDS)]
            case Note():
                return [f"note: {sentence(event.text)}"]
            case Found():
                return self._found(event)
            case Showed():
                return lines.of(event.kind, event.value)
            case Called():
                return lines.called(event) if self._verbose else []
            case Ended():
                return []  # the view sums it up

    def _found(self, event: Found) -> list[str]:
        passed = event.finding.outcome is Outcome.PASS and not is_warning(event.finding)
        return [] if passed and not self._verbose else lines.found(event.finding, lines.WORDS)

    def _progress(self, event: Progress) -> list[str]:
        line = f"{event.step}: {sentence(event.text)}"
        only_figures = event.fields.get("changed") is False and not self._verbose
        if only_figures or line == self._said:
            return []
        self._said = line
        return [line]
