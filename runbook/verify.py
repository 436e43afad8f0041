"""Asking whether what runs is what should run: flags, units, health, readiness, then correctness and speed under load."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook import flagtable, plan, probes
from runbook.errors import GateError, MeasureError
from runbook.model import Command, Sessions
from runbook.probes import Sample, health, ready, unit
from runbook.validations import Jobs, bench, command, sessions
from runbook.verdict import Finding, Outcome, worst

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.events import Step
    from runbook.model import Budget, Host, Observation, Unit, Validation
    from runbook.work import Work

JOURNAL_LINES = 20


@dataclass
class Measured:
    """Result documents of the load that ran, filled as it runs, so that an interrupted rollout still has them."""

    validations: list[Mapping[str, Any]] = field(default_factory=list)
    bench: Mapping[str, Any] | None = None
    comparison: Mapping[str, Any] | None = None


# ------------------------------------------------------------------ flags and environment


def drift(host: Host, seen: Observation) -> tuple[Finding, ...]:
    """One finding per declared flag and unit: wanted against file against running process."""
    return tuple(row.finding("drift") for row in flagtable.rows(host, seen))


def environment(
    host: Host, seen: Observation, wanted: Mapping[str, Mapping[str, str | None]]
) -> tuple[Finding, ...]:
    """What runs equals what was planned, per unit; an unknown environment is inconclusive, never a pass."""
    return tuple(
        _environment(unit_, seen, wanted[unit_.role]) for unit_ in host.units if wanted.get(unit_.role)
    )


def _environment(unit_: Unit, seen: Observation, wanted: Mapping[str, str | None]) -> Finding:
    state = seen.units[unit_.name]
    if state.processes.kind == "unknown":
        return Finding(
            "environment",
            Outcome.INCONCLUSIVE,
            f"{unit_.role}: running environment unknown ({state.processes.detail})",
        )
    differing = plan.differences(wanted, state)
    if differing:
        return Finding("environment", Outcome.FAIL, f"{unit_.role}: {'; '.join(differing)}")
    return Finding(
        "environment",
        Outcome.PASS,
        f"{unit_.role}: {len(wanted)} variables run as planned ({state.processes.kind})",
    )


# ------------------------------------------------------------------ probes


def wait_up(work: Work, unit_: Unit, step: Step, *, replaced_pid: int = 0) -> Finding:
    """Wait until a unit runs and its health endpoint answers; `replaced_pid` is the MainPID that must be gone.

    Ends early only on a state that no waiting mends: failed, masked, crash loop, twice seen inactive.
    """
    budget = work.host.wait.health
    first = work.wire.call("units", units=[unit_.name])[unit_.name] if not replaced_pid else {}
    inactive = 0

    def ask() -> Sample:
        nonlocal inactive
        work.checkpoint()
        properties = work.wire.call("units", units=[unit_.name])[unit_.name]
        sample = _up(properties, replaced_pid, first)
        # A restart may pass through inactive/dead; seen twice in a row it is where the unit stays.
        inactive = inactive + 1 if properties.get("ActiveState") == "inactive" else 0
        if inactive == 1:
            return dataclasses.replace(sample, final=False)
        if not sample.holds or unit_.health is None:
            return sample
        answer = health.ask(work.tunnel, unit_.health, budget.timeout_s)
        return dataclasses.replace(answer, text=f"{answer.text} from {unit_.health}")

    asked = probes.until(ask, budget, sleep=work.pause, clock=work.clock, on_try=_say(step, budget))
    return probes.finding("health" if unit_.health else "unit", unit_.role, asked, budget)


def _up(properties: Mapping[str, str], replaced_pid: int, first: Mapping[str, str]) -> Sample:
    if replaced_pid and int(properties.get("MainPID") or 0) == replaced_pid:
        return Sample(
            False, f"still the old process, {properties.get('ActiveState')}/{properties.get('SubState')}"
        )
    sample = unit.judge(properties)
    if sample.holds and first and (crash := unit.crashed(first, properties)):
        return Sample(False, f"crashed while we asked: {crash}", final=True)
    return sample


def wait_ready(work: Work, step: Step) -> Finding:
    """Wait for a real chat completion through the endpoint users call. Only asked while every worker is healthy."""
    endpoint, wait = work.host.endpoint, work.host.wait
    if endpoint is None or endpoint.url is None:
        return Finding("ready", Outcome.INCONCLUSIVE, "no unit has a url: nothing to send a chat to")
    url = endpoint.url

    def ask() -> Sample:
        work.checkpoint()
        return ready.ask(
            work.tunnel, url, work.host.model,
            max_tokens=wait.ready_max_tokens, timeout_s=wait.ready.timeout_s, api_key=work.api_key,
        )  # fmt: skip

    asked = probes.until(ask, wait.ready, sleep=work.pause, clock=work.clock, on_try=_say(step, wait.ready))
    return probes.finding("ready", endpoint.role, asked, wait.ready)


def _say(step: Step, budget: Budget) -> Any:
    def on_try(attempt: int, sample: Sample) -> None:
        step.progress(
            f"try {attempt} of {budget.attempts}, last: {sample.text}", attempt=attempt, of=budget.attempts
        )

    return on_try


def all_up(work: Work) -> bool:
    """Every unit runs and every health endpoint answers, asked now; each answer is a finding."""
    findings = []
    for unit_ in work.host.units:
        with work.run.step(f"health {unit_.role}", budget_s=work.host.wait.health.total_s) as step:
            found = wait_up(work, unit_, step)
            step.outcome, step.detail = found.outcome, found.message
        work.run.find(found)
        findings.append(found)
    return worst(found.outcome for found in findings) is Outcome.PASS


def serving_ready(work: Work) -> bool:
    """A chat comes back; a finding says so."""
    with work.run.step("ready", budget_s=work.host.wait.ready.total_s) as step:
        found = wait_ready(work, step)
        step.outcome, step.detail = found.outcome, found.message
    work.run.find(found)
    return found.outcome is Outcome.PASS


@dataclass(frozen=True, slots=True)
class Watch:
    """Units that must not crash from here on: their MainPID and NRestarts at one moment."""

    states: Mapping[str, Mapping[str, str]]

    @classmethod
    def start(cls, work: Work) -> Watch:
        return cls(work.wire.call("units", units=[unit_.name for unit_ in work.host.units]))

    def check(self, work: Work) -> None:
        """Raise GateError with the journal's end when a unit did not run through."""
        now = work.wire.call("units", units=list(self.states))
        for name, before in self.states.items():
            if crash := unit.crashed(before, now[name]):
                raise GateError(f"{name} crashed: {crash}", excerpt=journal(work, name))


def journal(work: Work, name: str, lines: int = JOURNAL_LINES) -> str:
    """The last lines of a unit's journal."""
    return str(work.wire.call("journal", unit=name, lines=lines, since=None, grep=None)["text"])


# ------------------------------------------------------------------ load


def under_load(
    work: Work, measured: Measured, watch: Watch, *, baseline: Mapping[str, Any] | None
) -> Outcome:
    """Validations, then the bench against its baseline, then a short validation again, since load ages servers.

    Stops at the first validation that is no pass: what comes after would measure a server already in doubt.
    """
    jobs = Jobs(work.wire, work.host, work.checkpoint, work.api_key)
    for spec in work.host.validations:
        outcome = validate(work, jobs, spec, measured, watch)
        if outcome is not Outcome.PASS:
            return outcome
    if work.host.bench is None:
        return Outcome.PASS
    outcome = measure_bench(work, jobs, measured, watch, baseline)
    again = _again(work.host.validations)
    return outcome if again is None else worst((outcome, validate(work, jobs, again, measured, watch)))


def validate(work: Work, jobs: Jobs, spec: Validation, measured: Measured, watch: Watch) -> Outcome:
    """Run and judge one validation; its document goes to `measured`, its findings to the run."""
    kind = command if isinstance(spec, Command) else sessions
    with work.run.step(f"validate {spec.name}", budget_s=spec.timeout_s) as step:
        work.at(step.name)
        try:
            result = kind.measure(jobs, spec, lambda text, fields: step.progress(text, **fields))
        except MeasureError as error:
            return _not_measured(work, step, f"validation:{spec.name}", error)
        measured.validations.append(result)
        findings = sessions.judge(result)
        step.outcome = worst(finding.outcome for finding in findings)
        step.detail = " · ".join(result["lines"][:2])
    work.run.show("validation", result)
    work.run.find(*findings)
    watch.check(work)
    return step.outcome


def _not_measured(work: Work, step: Step, check: str, error: MeasureError) -> Outcome:
    step.outcome, step.detail = Outcome.ERROR, str(error)
    work.run.find(Finding(check, Outcome.ERROR, str(error)))
    return Outcome.ERROR


def _again(validations: tuple[Validation, ...]) -> Sessions | None:
    """The first validation with one round: short, and at full concurrency."""
    first = next((spec for spec in validations if isinstance(spec, Sessions)), None)
    return first and dataclasses.replace(first, name=f"{first.name}-again", rounds=1)


def measure_bench(
    work: Work, jobs: Jobs, measured: Measured, watch: Watch, baseline: Mapping[str, Any] | None
) -> Outcome:
    """Run the bench and compare it with its baseline."""
    spec = work.host.bench
    assert spec is not None
    with work.run.step("bench", budget_s=spec.budget_s) as step:
        work.at(step.name)
        try:
            result = bench.measure(jobs, spec, lambda text, fields: step.progress(text, **fields))
        except MeasureError as error:
            return _not_measured(work, step, "bench", error)
        measured.bench = result
        judged = bench.judge(result, baseline, spec)
        measured.comparison = judged.comparison
        step.outcome = worst(finding.outcome for finding in judged.findings)
    work.run.show("bench", judged)
    work.run.find(*judged.findings)
    watch.check(work)
    return step.outcome
