"""What happened, as it happens: a Run tells its listeners; console, audit and report are listeners.

A listener never changes the course of a rollout; one that raises is a defect and ends it as such.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from runbook.course import Course
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class StepStarted:
    name: str
    budget_s: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """The step in progress says where it is; `fields` are numbers for listeners that draw."""

    step: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepEnded:
    name: str
    outcome: Outcome
    duration_s: float
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth saying that is no finding."""

    text: str


@dataclass(frozen=True, slots=True)
class Found:
    finding: Finding


@dataclass(frozen=True, slots=True)
class Showed:
    """A value for people: a plan, a validation's or bench's result. `kind` names it, `value` is it."""

    kind: str
    value: Any


@dataclass(frozen=True, slots=True)
class Called:
    """One call of the helper that ended: what it was about, how long it took, and its error, if it had one."""

    call: str
    about: str
    duration_s: float
    error: str | None = None


Event = StepStarted | Progress | StepEnded | Note | Found | Showed | Called


class Listener(Protocol):
    def __call__(self, event: Event, /) -> None: ...


@dataclass
class Step:
    """The step in progress. `outcome` is what it ends with unless it raises."""

    name: str
    tell: Callable[[Event], None]
    outcome: Outcome = Outcome.PASS
    detail: str = ""

    def progress(self, text: str, **fields: Any) -> None:
        self.tell(Progress(self.name, text, fields))


class Run:
    """One rollout's story: steps with outcome and duration, findings, told to every listener in order.

    `courses` are the counts over time of the steps that count, by their names.

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

    def tell(self, event: Event) -> None:
        if isinstance(event, StepEnded):
            self.steps.append(event)
        elif isinstance(event, Found):
            self.findings.append(event.finding)
        elif isinstance(event, Progress) and "counts" in event.fields:
            self.courses.setdefault(event.step, Course(self._clock)).add(event.fields)
        for listener in self._listeners:
            listener(event)

    def find(self, *findings: Finding) -> None:
        for finding in findings:
            self.tell(Found(finding))

    def show(self, kind: str, value: Any) -> None:
        self.tell(Showed(kind, value))

    def note(self, text: str) -> None:
        self.tell(Note(text))

    @contextlib.contextmanager
    def step(self, name: str, *, budget_s: float | None = None) -> Iterator[Step]:
        """A named stage. It ends with the outcome the body left, with error when the body raises."""
        self._checkpoint()
        step = Step(name, self.tell)
        self.tell(StepStarted(name, budget_s))
        started = self._clock()
        try:
            yield step
        except BaseException as error:
            detail = str(error) or type(error).__name__
            self.tell(StepEnded(name, Outcome.ERROR, self._clock() - started, detail))
            raise
        self.tell(StepEnded(name, step.outcome, self._clock() - started, step.detail))
