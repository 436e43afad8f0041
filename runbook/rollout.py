"""deploy, verify, validate, bench, rollback and restart of one host, each told on one page."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from runbook import comparison, flagtable, handedits, leftovers, releases, remembered
from runbook.errors import (
    GateError,
    InterruptedByOperator,
    RollbackFailedError,
    RunbookError,
    UnreachableError,
    UsageError,
)
from runbook.looking import looked, planned, tell_edits
from runbook.observation import require_readable, require_units
from runbook.stages import (
    before,
    choosing,
    deciding,
    engine,
    expecting,
    files,
    inflight,
    interrupted,
    preflight,
    restarting,
    telling,
)
from runbook.verdict import Finding, Outcome, worst
from runbook.verify import baselines, benching, configuration, loading, waiting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.model import Observation, Release
    from runbook.options import Options
    from runbook.plan import Plan
    from runbook.story import Story
    from runbook.work import Work


def deploy(work: Work, options: Options) -> Story:
    """Make the host what its file says, prove it, and keep it or go back."""
    story = telling.begin(work, "deploy")
    with telling.told(work, story, audited=not options.dry_run):
        seen, plan = planned(work, story, alone=not options.dry_run)
        load = loading.withheld(work.host, options) is None
        _expect(work, options, seen, plan, load=load)
        if options.dry_run:
            return story
        before.confirm(work)
        seen = before.lock(work, "deploy")
        since = waiting.Watch.of(work, seen)
        before.unchanged(work, plan, seen, remembered.deploy)
        before.auditable(work)
        fit = preflight.check(work, seen, plan, load=load)
        parent = _secured(work, story, seen, fit.engine)
        back = deciding.way_back(work, story, seen, parent)
        telling.warn(work, story, [*fit.warnings, *engine.warnings(parent.id, parent.engine, fit.engine)])
        baseline = baselines.baseline(work, parent, seen, plan, serving=fit.serving) if load else None
        story.extra["parent"] = parent.id
        story.release = _written(work, story, plan, seen, parent, fit.engine)
        story.extra["left_behind"] = files.by_hand(work, seen, plan)
        with _undone(work, story, plan, parent, back, serving=fit.serving):
            restarting.restart(work, plan)
            watch = waiting.Watch.start(work) if plan.restarts else since
            _prove(work, story, plan, watch, load=load, baseline=baseline)
            _tell_what_was_left_out(work, story, options)
        story.settled = True
    return story


def check(work: Work, options: Options) -> Story:
    """Ask whether what runs is what should run; changes nothing on the host but its audit."""
    story = telling.begin(work, "verify")
    with telling.told(work, story, audited=True):
        seen = looked(work, story, require_units, handedits.require_scripts, alone=True)
        handedits.tell(seen, work.run.note)
        interrupted.record_if_left(work, seen)
        story.release = seen.current
        story.plan, refused = configuration.planned(work.host, seen)
        rows = flagtable.rows(work.host, seen)
        story.extra["flags"] = comparison.rows(work.host, seen)
        work.run.show("places", [row.places for row in rows if row.places])
        _tell_left_behind(work, story, seen)
        drift = (*configuration.drift(rows), *configuration.argument_drift(work.host, seen), *refused)
        work.run.find(*drift, *configuration.unapplied(seen, story.plan, configuration.told(drift)))
        from runbook.verify import bookkeeping  # here, since only this page keeps the books and pays for them

        work.run.find(*bookkeeping.book(work.host, seen, work.now().date()))
        if not (waiting.all_up(work, before=seen) and waiting.serving_ready(work, before=seen)):
            return story
        if (unvalidated := loading.unvalidated(work.host, options)) is not None:
            work.run.note(unvalidated)
        if loading.withheld(work.host, options) is None:
            here = releases.current(seen)
            baseline = here.bench if here else None
            watch = waiting.Watch.start(work, before=seen)
            with waiting.undisturbed(work):
                loading.under_load(work, story.measured, watch, baseline=baseline)
            _tell_who_proves(work, story, here)
    return story


def validate(work: Work, options: Options) -> Story:
    """Run the host's validations, or those named, against what serves now; changes nothing on the host but its audit."""
    story = telling.begin(work, "validate")
    with telling.told(work, story, audited=True):
        specs = loading.chosen(work.host, options.names)
        if not loading.may_load(work.host, options):
            raise UsageError(f"{work.host.name} has live traffic: --load says that it may be loaded now")
        seen = looked(work, story, require_units, alone=True)
        story.release = seen.current
        if waiting.all_up(work, before=seen) and waiting.serving_ready(work, before=seen):
            watch = waiting.Watch.start(work, before=seen)
            with waiting.undisturbed(work):
                loading.validate_each(work, loading.jobs_of(work), specs, story.measured, watch)
    return story


def bench(work: Work, options: Options) -> Story:
    """Bench what serves now, by itself or against an older bench; changes nothing on the host but its audit."""
    story = telling.begin(work, "bench")
    with telling.told(work, story, audited=not options.dry_run):
        work = work._replace(host=benching.chosen(work.host, options))
        if not loading.may_load(work.host, options):
            raise UsageError(f"{work.host.name} has live traffic: --load says that it may be loaded now")
        seen = looked(work, story, require_units, alone=not options.dry_run)
        story.release, story.extra["against"] = seen.current, options.against
        story.measured.baseline = benching.kept_of(seen, options)
        judge = benching.judge_of(work, story.measured.baseline, options.against)
        if options.dry_run:
            work.run.note(f"would run: {benching.command_of(work.host)}")
            return story
        if waiting.all_up(work, before=seen) and waiting.serving_ready(work, before=seen):
            watch = waiting.Watch.start(work, before=seen)
            with waiting.undisturbed(work):
                benching.measure(work, loading.jobs_of(work), story.measured, watch, judge)
    return story


def rollback(work: Work, options: Options) -> Story:
    """Put an older release back, restart what it calls for, and check that it runs."""
    story = telling.begin(work, "rollback")
    with telling.told(work, story, audited=not options.dry_run):
        seen = looked(work, story, require_units, require_readable, alone=not options.dry_run)
        target = before.rollback_target(work, seen, options.to)
        before.refuse_hand_edits(work, seen, target, force=options.force)
        plan = story.plan = files.plan_back(work, seen, target)
        work.run.note(before.where_to(seen, target, plan, named=bool(options.to)))
        work.run.show("plan", plan)
        if target.engine:
            telling.warn(work, story, engine.warnings(target.id, target.engine, engine.look(work)))
        _expect(work, options, seen, plan)
        if options.dry_run:
            return story
        before.confirm(work, back_to=target)
        seen = before.lock(work, "rollback")
        before.unchanged(work, plan, seen, lambda host, seen: files.plan_back(work, seen, target))
        if options.force:
            _secured(work, story, seen)
        _return_to(work, story, plan, target)
        story.settled = True
    return story


def restart(work: Work, options: Options) -> Story:
    """Restart units by name, each healthy before the next, and check that what they serve is ready; edits nothing."""
    story = telling.begin(work, "restart")
    with telling.told(work, story, audited=not options.dry_run):
        seen = looked(work, story, require_units, alone=not options.dry_run)
        if seen.lock_holder is None:
            before.refuse_unsettled(work, seen)
        tell_edits(work, story, seen)
        plan = story.plan = choosing.restart_plan(work.host, seen, options.units)
        story.release = seen.current
        work.run.show("plan", plan)
        _expect(work, options, seen, plan)
        if options.dry_run:
            return story
        before.confirm(work)
        seen = before.lock(work, "restart")
        before.refuse_unsettled(work, seen)
        before.unchanged(
            work, plan, seen, lambda host, seen: choosing.restart_plan(host, seen, options.units)
        )
        inflight.begin(work, "restart", back_to=None)
        try:
            restarting.restart(work, plan)
            if waiting.all_up(work) and waiting.serving_ready(work):
                _as_planned(work, story, plan.wanted)
        except GateError as error:
            story.error = error
            work.run.find(Finding("unit", Outcome.FAIL, str(error), {"journal": error.excerpt}))
        story.settled = True
    return story


# ------------------------------------------------------------------ the parts of the page


def _expect(work: Work, options: Options, seen: Observation, plan: Plan, *, load: bool = False) -> None:
    """Say how long it will take to whoever is about to be asked."""
    if work.asks or options.dry_run:
        expecting.tell(work, seen, plan, load=load)


def _tell_left_behind(work: Work, story: Story, seen: Observation) -> None:
    """What --set left that no host file names, as a finding and in the last lines."""
    left = leftovers.standing(work.host, leftovers.names(seen), leftovers.files_of(seen, story.plan))
    story.extra["left_behind"] = left
    work.run.find(*configuration.left_behind(work.host, left))


def _tell_who_proves(work: Work, story: Story, here: Release | None) -> None:
    """A verify writes no verdict: say which deploy would, where this one found nothing against an unproven release."""
    if here and here.verdict == "unproven" and story.outcome is Outcome.PASS:
        work.run.note(
            f"release {here.id} stays unproven: verify writes no verdict, a deploy with nothing to change does"
        )


def _prove(work: Work, story: Story, plan: Plan, watch: waiting.Watch, *, load: bool, baseline: Any) -> None:
    """Up, ready, running what was planned, right under load and fast enough; each answer is a finding."""
    if not waiting.all_up(work, watch) or not waiting.serving_ready(work):
        raise GateError("the service did not come up healthy and ready; nothing was validated")
    seen = _as_planned(work, story, plan.wanted)
    watch.check(work, waiting.Watch.of(work, seen))
    if load:
        loading.under_load(work, story.measured, watch, baseline=baseline)


def _tell_what_was_left_out(work: Work, story: Story, options: Options) -> None:
    """Say why no validation speaks for the release, where none ran."""
    if (unvalidated := loading.unvalidated(work.host, options)) is not None:
        work.run.note(unvalidated)
        story.extra["unvalidated"] = unvalidated


def _as_planned(work: Work, story: Story, wanted: Mapping[str, Mapping[str, str | None]]) -> Observation:
    """Look once more: what runs, flag by flag, and whether it is what was planned. Returns what was seen."""
    seen = work.observe()
    compared = remembered.comparison(work.host, seen)
    story.extra["flags"] = compared.rows
    work.run.find(*configuration.environment(work.host, seen, wanted), *compared.launched)
    return seen


def _written(
    work: Work,
    story: Story,
    plan: Plan,
    seen: Observation,
    parent: Release,
    serving_with: Mapping[str, Any] | None,
) -> str:
    """Write the plan; where the host refuses what comes after the files, they go back to the parent's at once."""
    try:
        return files.write(work, plan, seen, parent, serving_with)
    except (InterruptedByOperator, UnreachableError):
        raise
    except RunbookError as error:
        if deciding.untouched(plan, work.observe()):
            raise
        _go_back(work, story, parent)
        story.settled = True
        raise deciding.after_the_write(error) from error


def _secured(
    work: Work, story: Story, seen: Observation, serving_with: Mapping[str, Any] | None = None
) -> Release:
    """The release of what is there, told in the last lines where it was saved just now."""
    kept = files.secure(work, seen, serving_with)
    if kept.id not in {release.id for release in seen.releases}:
        story.extra["kept_as"] = kept.id
    return kept


@contextlib.contextmanager
def _undone(
    work: Work, story: Story, plan: Plan, parent: Release, back: Release, *, serving: bool
) -> Iterator[None]:
    """Decide at the end of a deploy's proof: keep the release, or go back."""
    finishes = bool(plan.changes) or parent.unfinished
    try:
        yield
    except InterruptedByOperator:
        ran = (
            "flags" in story.extra
        )  # told once all of it was up, ready and looked at: only its proof was cut short
        deciding.mark(work, story, "unproven", finishes=finishes and ran)
        work.at("asking whether to roll back")
        if plan.changes and work.offer(f"stopped; roll back to {back.id} now?"):
            _go_back(work, story, back)
            story.settled = True
        raise
    except UnreachableError:
        raise  # nothing can be put back over a link that is gone: whoever comes next settles it
    except RunbookError as error:
        story.error = deciding.after_the_write(error)
        deciding.mark(work, story, "failed", finishes=finishes)
        excerpt = error.excerpt if isinstance(error, GateError) else ""
        work.run.find(Finding("unit", Outcome.FAIL, str(story.error), {"journal": excerpt}))
        policy: str = work.host.policy.on_unhealthy
    else:
        verdict, policy = deciding.judge(work, story)
        deciding.mark(work, story, verdict, finishes=finishes)
    if policy == "rollback" and deciding.may_return(work, plan, parent, back, serving=serving):
        _go_back(work, story, back)


def _go_back(work: Work, story: Story, parent: Release) -> None:
    with _on_the_way(parent):
        plan = files.plan_back(work, work.observe(), parent)
        work.run.show("rollback", plan)
    _return_to(work, story, plan, parent)


def _return_to(work: Work, story: Story, plan: Plan, target: Release) -> None:
    """Write a release's bytes, restart, and check it without load; a failure here needs a person."""
    story.extra["going_back_to"] = target.id
    story.extra.pop("flags", None)  # as they were before
    with _on_the_way(target):
        files.write_back(work, plan, target)
        story.extra["left_behind"] = leftovers.standing(
            work.host, target.by_hand, plan.wanted, work.undeclared
        )
        restarting.restart(work, plan)
    story.rolled_back_to = story.extra.pop("going_back_to")
    with _once_back(target):
        asked = len(work.run.findings)
        up = waiting.all_up(work) and waiting.serving_ready(work)
        _as_planned(work, story, target.flags)
    found = worst(finding.outcome for finding in work.run.findings[asked:])
    if not up or found is Outcome.FAIL:
        raise RollbackFailedError(
            f"the files of release {target.id} are back, but the service is not well: a person is needed"
        )
    deciding.finish(work, target)


def _on_the_way(target: Release) -> contextlib.AbstractContextManager[None]:
    return _or_a_person(
        stopped=f"on the way back to {target.id}: units that were not restarted yet run what they ran before; "
        "`status` says what, the next deploy or rollback settles it",
        failed=f"rollback to {target.id} did not finish",
    )


def _once_back(target: Release) -> contextlib.AbstractContextManager[None]:
    return _or_a_person(
        stopped=f"with release {target.id} back and its units restarted: nobody waited until they answer; `status` says",
        failed=f"release {target.id} is back and its units restarted, but whether they serve is not known",
    )


@contextlib.contextmanager
def _or_a_person(*, stopped: str, failed: str) -> Iterator[None]:
    """Whatever keeps a rollback from its end, how far it came is said and a person is needed; raises RollbackFailedError."""
    try:
        yield
    except InterruptedByOperator as stop:
        raise InterruptedByOperator(f"{stop} {stopped}") from stop
    except RunbookError as error:
        raise RollbackFailedError(f"{failed}: {error}") from error
