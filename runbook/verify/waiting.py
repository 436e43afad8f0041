"""Waiting for units to be up, healthy and ready, and watching that they stay so."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

from runbook import alongside, probes
from runbook.errors import GateError, MeasureError
from runbook.probes import Sample, unit
from runbook.verdict import Finding, Outcome, worst
from runbook.verify import lastwords, readiness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.events import Step
    from runbook.model import Budget, Observation, Unit
    from runbook.work import Work

JOURNAL_LINES = 20
SETTLING_S, SETTLING_READS = 0.5, 6
YOUNG_S = 0.5  # one look at all units spares each its own: a round trip and a systemctl


def wait_up(
    work: Work,
    unit_: Unit,
    step: Step,
    *,
    replaced_pid: int = 0,
    since: Watch | None = None,
    look: Watch | None = None,
) -> Finding:
    """Wait until a unit runs and its health endpoint answers; `replaced_pid` is the MainPID that must be gone.

    Without one it must run through from `since`, else from now on. `look`, while it is young, is what asking once would show.
    Ends early only on a state that no waiting mends: failed, masked, crash loop, twice seen inactive.
    """
    budget = work.host.wait.health
    young = look if look and look.is_young(work) else None
    first = {} if replaced_pid else (since or young or Watch.start(work, unit_.name)).states[unit_.name]
    fresh = [young.states[unit_.name]] if young else []
    inactive, began = 0, work.clock()

    def ask() -> Sample:
        nonlocal inactive
        work.checkpoint()
        properties = fresh.pop() if fresh else shown(work, unit_.name)
        sample = unit.stopping(properties, work.clock() - began) or _up(properties, replaced_pid, first)
        # A restart may pass through inactive/dead; seen twice in a row it is where the unit stays.
        inactive = inactive + 1 if properties.get("ActiveState") == "inactive" else 0
        if inactive == 1:
            return dataclasses.replace(sample, final=False)
        if not sample.holds or unit_.health is None:
            return sample
        answer: Sample = probes.of(unit_.health).ask(work.tunnel, unit_.health, budget.timeout_s)
        return dataclasses.replace(answer, text=f"{answer.text} from {unit_.health}")

    asked = probes.until(ask, budget, sleep=work.pause, clock=work.clock, on_try=_say(step, budget))
    found = probes.finding("health" if unit_.health else "unit", unit_.role, asked, budget)
    return work.run.probed(found)


def shown(work: Work, name: str) -> Mapping[str, str]:
    """A unit's properties as they are now."""
    found: Mapping[str, str] = work.wire.call("units", units=[name])[name]
    return found


def _up(properties: Mapping[str, str], replaced_pid: int, first: Mapping[str, str]) -> Sample:
    if replaced_pid and int(properties.get("MainPID") or 0) == replaced_pid:
        return Sample(
            False, f"still the old process, {properties.get('ActiveState')}/{properties.get('SubState')}"
        )
    sample = unit.judge(properties)
    if sample.holds and first and (crash := unit.crashed(first, properties)):
        return Sample(False, f"crashed while we asked: {crash}", final=True)
    return sample


def _say(step: Step, budget: Budget) -> Any:
    return lambda attempt, sample: probes.tell_try(step, budget, attempt, sample)


class RestartedMeanwhile(MeasureError):
    """Somebody's rollout restarted what was being measured."""


@contextlib.contextmanager
def undisturbed(work: Work) -> Iterator[None]:
    """Measure what serves, without the lock: where somebody restarts it meanwhile, an inconclusive finding says who."""
    try:
        yield
    except RestartedMeanwhile as told:
        work.run.find(Finding("unit", Outcome.INCONCLUSIVE, str(told)))


def _unless_restarted(work: Work, found: Finding, before: Observation | None) -> Finding:
    """The finding, inconclusive where somebody's rollout began since `before`: it speaks of that, not of the service."""
    if before is None or found.outcome is Outcome.PASS:
        return found
    if not (whose := alongside.meanwhile(work.wire, work.host, before)):
        return found
    said = f"asked in the middle of {whose}: {found.message}"
    return dataclasses.replace(found, outcome=Outcome.INCONCLUSIVE, message=said)


def all_up(work: Work, since: Watch | None = None, *, before: Observation | None = None) -> bool:
    """Every unit runs and every health endpoint answers; each answer is a finding.

    Each has run since then, where it is given, else only since it was asked: until then somebody may restart it. `before` is
    the look at the host that was taken before, where its lock is not ours and somebody may restart it now.
    """
    look = since if since and since.is_young(work) else Watch.start(work)
    findings = []
    for unit_ in work.host.units:
        with work.run.step(f"health {unit_.role}", budget_s=work.host.wait.health.total_s) as step:
            found = _unless_restarted(work, wait_up(work, unit_, step, since=since, look=look), before)
            step.outcome, step.detail = found.outcome, found.message
        work.run.find(found)
        findings.append(found)
    return worst(found.outcome for found in findings) is Outcome.PASS


def serving_ready(work: Work, *, before: Observation | None = None) -> bool:
    """A chat comes back; a finding says so. `before` as for `all_up`."""
    with work.run.step("ready", budget_s=work.host.wait.ready.total_s) as step:
        found = _unless_restarted(work, readiness.wait(work, step), before)
        step.outcome, step.detail = found.outcome, found.message
    work.run.find(found)
    return found.outcome is Outcome.PASS


class Watch(NamedTuple):
    """Units that must not crash from here on: their properties at one moment, `at` seconds of the clock of `work`.

    `before` is the look at the host that was taken before, where its lock is not ours and somebody may restart them.
    """

    states: Mapping[str, Mapping[str, str]]
    at: float
    before: Observation | None = None

    @classmethod
    def start(cls, work: Work, *names: str, before: Observation | None = None) -> Watch:
        """Of the units named, by default all of the host."""
        asked = names or tuple(unit_.name for unit_ in work.host.units)
        return cls(work.wire.call("units", units=[*asked]), work.clock(), before)

    @classmethod
    def of(cls, work: Work, seen: Observation) -> Watch:
        """From a look at the host that was taken just now."""
        return cls({name: unit_.properties for name, unit_ in seen.units.items()}, work.clock())

    def is_young(self, work: Work) -> bool:
        """Whether nothing was waited for since: what it shows is what asking again would."""
        return work.clock() - self.at < YOUNG_S

    def check(self, work: Work, now: Watch | None = None) -> None:
        """Raise GateError with the journal's end when a unit did not run through until now, RestartedMeanwhile where that
        was somebody's rollout."""
        states = (now or Watch.start(work, *self.states)).states
        for name, before in self.states.items():
            if crash := unit.crashed(before, states[name]):
                self._excuse(work, name, crash)
                excerpt = journal(work, name)
                told = "; ".join((f"{name} crashed: {crash}", *lastwords.sentence(excerpt)))
                raise GateError(told, excerpt=excerpt)

    def _excuse(self, work: Work, name: str, crash: str) -> None:
        if self.before and (whose := alongside.meanwhile(work.wire, work.host, self.before)):
            raise RestartedMeanwhile(
                f"{name} was restarted by {whose} meanwhile ({crash}): what was measured says nothing"
            )


def journal(work: Work, name: str, *, since: float | None = None) -> str:
    """The last lines of a unit's journal; `since` (the host's clock) leaves out those of earlier starts.

    Read until it says no more: journald takes the last words of a dying process after systemd's own of its death.
    """

    def read() -> str:
        return str(work.wire.call("journal", unit=name, lines=JOURNAL_LINES, since=since, grep=None)["text"])

    texts = [read()]
    while len(texts) < SETTLING_READS and texts[-3:] != [texts[-1]] * 3:  # quiet for a second
        work.sleep(SETTLING_S)
        texts.append(read())
    return texts[-1]
