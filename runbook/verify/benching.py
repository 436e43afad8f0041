"""The bench of a host: run, judged against another one, and told."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from runbook import releases
from runbook.errors import MeasureError, UsageError
from runbook.model import Bench
from runbook.validations import bench, benchcommand
from runbook.validations import options as words
from runbook.verdict import Finding, Outcome, worst

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runbook.events import Run, Step
    from runbook.measured import Measured
    from runbook.model import BenchCommand, Host, Observation
    from runbook.options import Options
    from runbook.validations import Jobs
    from runbook.validations.bench import Judged
    from runbook.verify.waiting import Watch
    from runbook.work import Work

    Judge = Callable[[Mapping[str, Any]], Judged]


def measure(work: Work, jobs: Jobs, measured: Measured, watch: Watch, judge: Judge) -> Outcome:
    """Run the host's bench, judge it, and see that no unit crashed meanwhile; its document goes to `measured`."""
    spec = work.host.bench
    assert spec is not None
    with work.run.step("bench", budget_s=budget(spec)) as step:
        work.at(step.name)
        try:
            result = run(jobs, spec, teller(work.run, step), measured.requests.append)
        except MeasureError as error:
            step.outcome, step.detail = Outcome.ERROR, str(error)
            work.run.find(Finding("bench", Outcome.ERROR, str(error)))
            return Outcome.ERROR
        measured.bench = result
        judged = judge(result)
        measured.comparison = judged.comparison
        step.outcome = worst(finding.outcome for finding in judged.findings)
    work.run.show("bench", judged)
    work.run.find(*judged.findings)
    watch.check(work)
    return step.outcome


def against(host: Host, baseline: Mapping[str, Any] | None) -> Judge:
    """How a rollout judges the bench of its host: against `baseline`, which a deploy's own arguments may differ from."""
    spec = host.bench
    assert spec is not None
    if not isinstance(spec, Bench):
        return lambda result: benchcommand.judge(result, baseline, spec)
    return lambda result: bench.judge(result, baseline, spec, bench.expected(host))


def chosen(host: Host, options: Options) -> Host:
    """The host with the bench that the command line asks for. Raises UsageError for what does not go together."""
    spec = host.bench or bench.DEFAULT
    given = options.load_options
    if isinstance(spec, Bench):
        return host._replace(bench=bench.chosen(spec, given))
    if given:
        raise UsageError(
            f"the bench of {host.name} is a command of its own; it takes no --{next(iter(given))}"
        )
    return host


def command_of(host: Host) -> str:
    """What a bench of the host runs there, for people."""
    spec = host.bench
    assert spec is not None
    if not isinstance(spec, Bench):
        return spec.run
    return shlex.join(["python", "-m", "runbook.load", "bench", *words(bench.arguments(host, spec))])


def kept_of(seen: Observation, options: Options) -> Mapping[str, Any] | None:
    """The result that the command line names, of a release or a file; None where it names none. Raises UsageError."""
    if options.baseline is not None or options.against is None:
        return options.baseline
    release = releases.named(seen, options.against)
    if release.bench is None:
        having = ", ".join(one.id for one in seen.releases if one.bench) or "none"
        raise UsageError(f"release {release.id} keeps no bench; those that do: {having}")
    return release.bench


def judge_of(work: Work, kept: Mapping[str, Any] | None, named: str | None) -> Judge:
    """How a bench by itself is judged: against the result that was named, else alone.

    Raises UsageError where that measured something else, as far as it is known before the load.
    """
    spec = work.host.bench
    assert spec is not None
    if not isinstance(spec, Bench):
        if kept is not None and not benchcommand.comparable(kept, spec):
            raise UsageError(f"--against {named}: it is no bench by this command that ended well")
        return lambda result: benchcommand.judge(result, kept, spec)
    wanted = bench.fingerprint(work.host, spec)
    if kept is None:
        return bench.alone
    bench.require_like(kept, wanted, named)
    return lambda result: _compared(work, result, kept, spec, named)


def _compared(
    work: Work, result: Mapping[str, Any], kept: Mapping[str, Any], spec: Bench, named: str | None
) -> Judged:
    """What was measured is shown before it is compared: a server of another version is only found by then."""
    work.run.show("bench", bench.alone(result))
    bench.require_like(kept, result["fingerprint"], named)
    return bench.judge(result, kept, spec)


def run(
    jobs: Jobs,
    spec: Bench | BenchCommand,
    say: Callable[[str, Mapping[str, Any]], None],
    on_request: Callable[[Mapping[str, Any]], None] = lambda request: None,
) -> dict[str, Any]:
    if isinstance(spec, Bench):
        return bench.measure(jobs, spec, say, on_request)
    return benchcommand.measure(jobs, spec, say)


def teller(told: Run, step: Step) -> Callable[[str, Mapping[str, Any]], None]:
    """Progress of a bench; how long it will take stays to be read."""

    def say(text: str, fields: Mapping[str, Any]) -> None:
        if "expected_s" in fields:
            told.note(f"{step.name}: {text}")
        else:
            step.progress(text, **fields)

    return say


def budget(spec: Bench | BenchCommand) -> float | None:
    return spec.budget_s if isinstance(spec, Bench) else spec.timeout_s
