"""What happened, as it happens: a Run tells its listeners; console, audit and report are listeners.

A listener never changes the course of a rollout; one that raises is a defect and ends it as such.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from runbook.course import Course
from runbook.deeds import Called as Called
from runbook.deeds import Deeds
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


class StepStarted(NamedTuple):
    name: str
    budget_s: float | None = None


class Progress(NamedTuple):
    """The step in progress says where it is; `fields` are numbers for listeners that draw."""

    step: str
    text: str
    fields: Mapping[str, Any] = {}


class StepEnded(NamedTuple):
    """`at_s` is when it began, in seconds from the beginning of the run."""

    name: str
    outcome: Outcome
    duration_s: float
    detail: str = ""
    at_s: float = 0.0


class Note(NamedTuple):
    """Something worth saying that is no finding."""

    text: str


class Found(NamedTuple):
    finding: Finding


class Showed(NamedTuple):
    """A value for people: a plan, a validation's or bench's result. `kind` names it, `value` is it."""

    kind: str
    value: Any


class Ended(NamedTuple):
    """The rollout is over, and its document is what `--json` prints."""

    document: Mapping[str, Any]


Event = StepStarted | Progress | StepEnded | Note | Found | Showed | Called | Ended


class Listener(Protocol):
    def __call__(self, event: Event, /) -> None: ...


@dataclass
class Step:
    """The step in progress. `outcome` is what it ends with unless it raises; `elapsed_s` says how long it has taken."""

    name: str
    tell: Callable[[Event], None]
    elapsed_s: Callable[[], float] = lambda: 0.0
    outcome: Outcome = Outcome.PASS
    detail: str = ""

    def progress(self, text: str, **fields: Any) -> None:
        self.tell(Progress(self.name, text, fields))


class Run:
    """One rollout's story: steps with outcome and duration, findings, told to every listener in order.

    `courses` are the counts over time of the steps that count, by their names; `deeds` are what went over the wire;
    `probes` is every asking that ended, those within a restart included.

    `clock` returns seconds and only differences of it are used; `checkpoint` is called before each step and
    raises when the operator asked to stop, so that a step once begun is finished.
    """

    def __init__(
        self,
        listeners: Sequence[Listener] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
        checkpoint: Callable[[], None] = lambda: None,
    ) -> None:
        self._listeners = tuple(listeners)
        self._clock = clock
        self._checkpoint = checkpoint
        self.steps: list[StepEnded] = []
        self.findings: list[Finding] = []
        self.courses: dict[str, Course] = {}
        self._step_began = 0.0
        self.deeds = Deeds(clock)
        self.probes: list[Finding] = []

    def listen(self, listener: Listener) -> None:
        """One more listener, from now on."""
        self._listeners = (*self._listeners, listener)

    def tell(self, event: Event) -> None:
        if isinstance(event, StepEnded):
            self.steps.append(event)
        elif isinstance(event, Found):
            self.findings.append(event.finding)
        elif isinstance(event, Progress) and "counts" in event.fields:
            self.courses.setdefault(event.step, Course(self._clock, self._step_began)).add(event.fields)
        elif isinstance(event, Called):
            self.deeds.add(event)
        for listener in self._listeners:
            listener(event)

    def find(self, *findings: Finding) -> None:
        for finding in findings:
            self.tell(Found(finding))

    def show(self, kind: str, value: Any) -> None:
        self.tell(Showed(kind, value))

    def note(self, text: str) -> None:
        self.tell(Note(text))

    def probed(self, finding: Finding) -> Finding:
        """Keep what an asking came to; it is a finding of the rollout only if it is told as one."""
        self.probes.append(finding)
        return finding

    @contextlib.contextmanager
    def step(self, name: str, *, budget_s: float | None = None) -> Iterator[Step]:
        """A named stage. It ends with the outcome the body left, with error when the body raises."""
        self._checkpoint()
        self.tell(StepStarted(name, budget_s))
        started = self._step_began = self._clock()
        step = Step(name, self.tell, lambda: self._clock() - started)
        try:
            yield step
        except BaseException as error:
            step.outcome, step.detail = Outcome.ERROR, str(error) or type(error).__name__
            raise
        finally:
            duration_s, at_s = self._clock() - started, started - self.deeds.began
            self.tell(StepEnded(name, step.outcome, duration_s, step.detail, at_s))
