"""The bench of a rollout: which older one it is compared with, and what it says."""

from __future__ import annotations

import dataclasses
import json
import shlex
from typing import TYPE_CHECKING, Any, Protocol

from runbook import releases
from runbook.errors import MeasureError, ReleaseError, RunbookError, UsageError
from runbook.model import Bench
from runbook.text import no_figure
from runbook.validations import Jobs, bench, benchcommand, endpoint_url
from runbook.validations import options as words
from runbook.verdict import Finding, Outcome, worst

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runbook.events import Step
    from runbook.measured import Measured
    from runbook.model import BenchCommand, Host, Observation, Release
    from runbook.options import Options
    from runbook.plan import Plan
    from runbook.validations.bench import Judged
    from runbook.verify.waiting import Watch
    from runbook.work import Work


class Judge(Protocol):
    """Says what a bench result means."""

    def __call__(self, result: Mapping[str, Any], /) -> Judged: ...


# Releases whose own figures are those of a state that was found good, or found there in the first place.
TRUSTED = ("proven", "adopted")
_ASK_S = 5.0


def baseline(
    work: Work, parent: Release, seen: Observation, plan: Plan, *, serving: bool
) -> Mapping[str, Any] | None:
    """The bench of the state before the change: one that a release keeps of the same workload and server, else measured now.

    Where the plan changes no file the state before is not the parent but what was last trusted: a release that was found
    too slow is not compared with itself.
    """
    spec = work.host.bench
    if spec is None:
        return None
    wanted = _wanted(work, spec)
    states = [parent] if plan.changes else list(lineage(parent, seen.releases))
    expected = _expected(work.host)
    if (
        kept := next((one.bench for one in states if usable(one.bench, spec, wanted, expected)), None)
    ) is not None:
        return kept
    if not serving:
        return parent.bench
    if not plan.changes and parent.verdict not in TRUSTED:
        work.run.note(
            "no release before this one has a bench of this workload: the bench compares the server with itself"
        )
    return _measured_before(work, spec, parent)


def lineage(release: Release, known: Sequence[Release]) -> Iterator[Release]:
    """A release and those it descends from, the nearest first, as far as they are trusted."""
    by_id = {one.id: one for one in known} | {release.id: release}
    at: str | None = release.id
    while at is not None and (one := by_id.pop(at, None)) is not None:
        if one.verdict in TRUSTED:
            yield one
        at = one.parent


def usable(
    kept: Mapping[str, Any] | None,
    spec: Bench | BenchCommand,
    wanted: Mapping[str, Any],
    expected: Sequence[str] = (),
) -> bool:
    """Whether a kept result is sound and of the wanted fingerprint, so that a new one may be compared with it."""
    if not isinstance(spec, Bench):
        return benchcommand.comparable(kept, spec)
    return (
        kept is not None
        and kept.get("outcome") == Outcome.PASS.value
        and not bench.unlike(kept, wanted, expected)
    )


def _wanted(work: Work, spec: Bench | BenchCommand) -> dict[str, Any]:
    return bench.fingerprint(work.host, spec, _server_now(work)) if isinstance(spec, Bench) else {}


def _server_now(work: Work) -> dict[str, Any] | None:
    """Version, arguments and GPU as the serving worker tells them now; None where it tells nothing."""
    from runbook.load.bench.server import facts_of

    url = bench.generating(work.host) or endpoint_url(work.host)
    try:
        answer = work.tunnel.get(f"{url}/server_info", deadline_s=_ASK_S)
        document = json.loads(answer.body, parse_constant=no_figure) if answer.status == 200 else None
    except (RunbookError, ValueError, RecursionError):
        return None
    return facts_of(document) if isinstance(document, dict) else None


def _expected(host: Host) -> tuple[str, ...]:
    """Fingerprint keys of arguments that the host file declares: a deploy changes them, so they may differ."""
    names = (argument.name.lstrip("-").replace("-", "_") for unit in host.units for argument in unit.args)
    return tuple(f"server.arguments.{name}" for name in names)


def _measured_before(work: Work, spec: Bench | BenchCommand, parent: Release) -> Mapping[str, Any] | None:
    with work.run.step("bench before", budget_s=_budget(spec)) as step:
        try:
            jobs = Jobs(work.wire, work.host, work.checkpoint, work.api_key)
            result = _measure(jobs, spec, _teller(work, step))
        except MeasureError as error:
            # A fix must not wait for a number; the bench after it will be inconclusive and say why.
            step.outcome, step.detail = Outcome.ERROR, str(error)
            return None
        work.wire.call("release_update", state=work.host.state, id=parent.id, fields={"bench": result})
    return result


def measure(work: Work, jobs: Jobs, measured: Measured, watch: Watch, judge: Judge) -> Outcome:
    """Run the host's bench, judge it, and see that no unit crashed meanwhile; its document goes to `measured`."""
    spec = work.host.bench
    assert spec is not None
    with work.run.step("bench", budget_s=_budget(spec)) as step:
        work.at(step.name)
        try:
            result = _measure(jobs, spec, _teller(work, step), measured.requests.append)
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
    return lambda result: bench.judge(result, baseline, spec, _expected(host))


def chosen(host: Host, options: Options) -> Host:
    """The host with the bench that the command line asks for. Raises UsageError for what does not go together."""
    spec = host.bench or bench.DEFAULT
    given = options.load_options
    if isinstance(spec, Bench):
        return dataclasses.replace(host, bench=bench.chosen(spec, given))
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


def judge_of(work: Work, seen: Observation, options: Options) -> Judge:
    """How a bench by itself is judged: against what the command line names, else alone.

    Raises ReleaseError, and UsageError where what is named measured something else, as far as that is known before.
    """
    spec, named = work.host.bench, options.against
    assert spec is not None
    kept = options.baseline if options.baseline is not None or not named else _of_release(seen, named)
    if not isinstance(spec, Bench):
        if kept is not None and not benchcommand.comparable(kept, spec):
            raise UsageError(f"--against {named}: it is no bench by this command that ended well")
        return lambda result: benchcommand.judge(result, kept, spec)
    wanted = bench.fingerprint(work.host, spec)
    if kept is None:
        return bench.alone
    bench.require_like(kept, wanted, named)
    return lambda result: _compared(work, result, kept, spec, named)


def _of_release(seen: Observation, named: str) -> Mapping[str, Any]:
    release = releases.find(seen, named)
    if release.bench is None:
        having = ", ".join(one.id for one in seen.releases if one.bench) or "none"
        raise ReleaseError(f"release {release.id} keeps no bench; those that do: {having}")
    return release.bench


def _compared(
    work: Work, result: Mapping[str, Any], kept: Mapping[str, Any], spec: Bench, named: str | None
) -> Judged:
    """What was measured is shown before it is compared: a server of another version is only found by then."""
    work.run.show("bench", bench.alone(result))
    bench.require_like(kept, result["fingerprint"], named)
    return bench.judge(result, kept, spec)


def _measure(
    jobs: Jobs,
    spec: Bench | BenchCommand,
    say: Callable[[str, Mapping[str, Any]], None],
    on_request: Callable[[Mapping[str, Any]], None] = lambda request: None,
) -> dict[str, Any]:
    if isinstance(spec, Bench):
        return bench.measure(jobs, spec, say, on_request)
    return benchcommand.measure(jobs, spec, say)


def _teller(work: Work, step: Step) -> Callable[[str, Mapping[str, Any]], None]:
    """Progress of a bench; how long it will take stays to be read."""

    def say(text: str, fields: Mapping[str, Any]) -> None:
        if "expected_s" in fields:
            work.run.note(f"{step.name}: {text}")
        else:
            step.progress(text, **fields)

    return say


def _budget(spec: Bench | BenchCommand) -> float | None:
    return spec.budget_s if isinstance(spec, Bench) else spec.timeout_s
