"""Correctness and speed under load: validations, the bench against its baseline, a short validation again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook import validations
from runbook.errors import MeasureError, UsageError
from runbook.model import Sessions
from runbook.validations import Jobs, sessions
from runbook.verdict import Finding, Outcome, worst
from runbook.verify import benching

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runbook.events import Step
    from runbook.measured import Measured
    from runbook.model import Host, Validation
    from runbook.options import Options
    from runbook.verify.waiting import Watch
    from runbook.work import Work


def under_load(
    work: Work, measured: Measured, watch: Watch, *, baseline: Mapping[str, Any] | None
) -> Outcome:
    """Validations, then the bench against its baseline, then a short validation again, since load ages servers.

    Stops at the first validation that is no pass: what comes after would measure a server already in doubt.
    """
    jobs = jobs_of(work)
    outcome = validate_each(work, jobs, work.host.validations, measured, watch)
    if outcome is not Outcome.PASS or work.host.bench is None:
        return outcome
    measured.baseline = baseline
    outcome = benching.measure(work, jobs, measured, watch, benching.against(work.host, baseline))
    short = again(work.host.validations)
    return outcome if short is None else worst((outcome, validate(work, jobs, short, measured, watch)))


def withheld(host: Host, options: Options) -> str | None:
    """Why no load is put on the host, so that nothing is measured; None where there is to be load."""
    if options.skip_validation:
        return "--skip-validation"
    if not (host.validations or host.bench):
        return f"{host.source} declares no validation and no bench"
    return None if may_load(host, options) else "the host has live traffic, and --load was not given"


def unvalidated(host: Host, options: Options) -> str | None:
    """Why no validation runs, as it is said on screen; None where one does. Speed is no evidence of sound answers: a
    release that passed its bench alone is proven, but it must not look as if more had been asked of it."""
    if (why := withheld(host, options)) is not None:
        return f"neither validated nor benched: {why}"
    return None if host.validations else f"benched, not validated: {host.source} declares no validation"


def may_load(host: Host, options: Options) -> bool:
    """Whether the operator's word, or else the host file's, lets it be loaded."""
    return options.load if options.load is not None else host.traffic == "none"


def jobs_of(work: Work) -> Jobs:
    """What runs load on the host at work."""
    return Jobs(work.wire, work.host, work.checkpoint, work.api_key)


def chosen(host: Host, names: Sequence[str]) -> tuple[Validation, ...]:
    """The host's validations of these names, all of them without names. Raises UsageError naming those there are."""
    known = {spec.name: spec for spec in host.validations}
    unknown = [name for name in names if name not in known]
    if not known:
        raise UsageError(f"{host.source} declares no validation, so there is none to run")
    if unknown:
        raise UsageError(f"{host.source}: no validation named {unknown[0]!r}; it has: {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names)) or host.validations


def validate_each(
    work: Work, jobs: Jobs, specs: Sequence[Validation], measured: Measured, watch: Watch
) -> Outcome:
    """One after the other, up to the first that is no pass; says which were not run."""
    for number, spec in enumerate(specs, 1):
        outcome = validate(work, jobs, spec, measured, watch)
        if outcome is not Outcome.PASS:
            if left := ", ".join(later.name for later in specs[number:]):
                work.run.note(f"not run after that: {left}")
            return outcome
    return Outcome.PASS


def validate(work: Work, jobs: Jobs, spec: Validation, measured: Measured, watch: Watch) -> Outcome:
    """Run and judge one validation; its document goes to `measured`, its findings to the run."""
    kind = validations.of(spec)
    with work.run.step(f"validate {spec.name}", budget_s=spec.timeout_s) as step:
        work.at(step.name)
        try:
            result = kind.measure(jobs, spec, lambda text, fields: step.progress(text, **fields))
        except MeasureError as error:
            return _not_measured(work, step, f"validation:{spec.name}", error)
        findings = judged(measured, step, result)
    work.run.show("validation", result)
    work.run.find(*findings)
    watch.check(work)
    return step.outcome


def judged(measured: Measured, step: Step, result: Mapping[str, Any]) -> tuple[Finding, ...]:
    """What a validation's result document says; it is kept, and its step ends as it says."""
    measured.validations.append(result)
    findings = sessions.judge(result)
    step.outcome = worst(finding.outcome for finding in findings)
    step.detail = " · ".join(result["lines"][:2])
    return findings


def _not_measured(work: Work, step: Step, check: str, error: MeasureError) -> Outcome:
    step.outcome, step.detail = Outcome.ERROR, str(error)
    work.run.find(Finding(check, Outcome.ERROR, str(error)))
    return Outcome.ERROR


def again(specs: Sequence[Validation]) -> Sessions | None:
    """What runs after a bench: the first validation with one round, short, and at full concurrency."""
    first = next((spec for spec in specs if isinstance(spec, Sessions)), None)
    return first and first._replace(name=f"{first.name}-again", rounds=1)
