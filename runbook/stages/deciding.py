"""What the findings mean for the release, and whether to go back by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook import lineage
from runbook.errors import GateError, HelperError, MissingOnHostError, PreflightError
from runbook.verdict import Outcome, worst

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.errors import RunbookError
    from runbook.model import Observation, Release
    from runbook.plan import Plan
    from runbook.story import Story
    from runbook.work import Work


def judge(work: Work, story: Story) -> tuple[str, str]:
    """The release's verdict and what the policy does about it: `keep` or `rollback`."""
    policy = work.host.policy
    failed = {finding.check for finding in work.run.findings if finding.outcome is Outcome.FAIL}
    if failed - {"bench"}:
        return "failed", policy.on_corrupt
    if failed:
        return "unproven", policy.on_bench
    outcome = worst(finding.outcome for finding in work.run.findings)
    if outcome is not Outcome.PASS:
        return "unproven", policy.on_inconclusive
    measured = story.measured.validations or story.measured.bench
    return ("proven" if measured else "unproven"), "keep"


def mark(work: Work, story: Story, verdict: str, *, finishes: bool) -> None:
    """Write a deploy's verdict and results into its release, and where it `finishes` what was begun with it, that.

    A run that changed no file and concluded nothing learned nothing: an earlier verdict and its figures stay.
    """
    fields: dict[str, Any] = {"unfinished": False} if finishes else {}
    if verdict == "unproven" and story.plan and not story.plan.changes and not _concluded(story):
        work.run.note(
            f"release {story.release} keeps its verdict: no file was changed, nothing was concluded"
        )
        if fields:
            _update(work, str(story.release), fields)
        return
    fields |= {"verdict": verdict, "validations": story.measured.validations}
    if story.measured.bench is not None:
        fields["bench"] = story.measured.bench
    with work.run.step("verdict") as step:
        step.detail = f"release {story.release} is {verdict}{_unmeasured(story)}"
        try:
            work.wire.call("release_update", state=work.host.state, id=story.release, fields=fields)
        except (PreflightError, MissingOnHostError, HelperError) as error:
            if verdict == "proven":
                raise
            # It keeps nobody from going back; the release keeps the verdict it has.
            step.outcome, step.detail = Outcome.ERROR, f"{step.detail}, which could not be written: {error}"


def _unmeasured(story: Story) -> str:
    """Why nothing speaks for a release that nothing speaks against."""
    passed = story.outcome is Outcome.PASS
    return f": {story.extra['unvalidated']}" if passed and "unvalidated" in story.extra else ""


def _concluded(story: Story) -> bool:
    """Something was measured, and one of the answers was no."""
    failed = any(finding.outcome is Outcome.FAIL for finding in story.findings)
    return bool(story.measured.validations) and failed


def untouched(plan: Plan, seen: Observation) -> bool:
    """Whether every file of a plan still is as it was before."""
    return all(seen.files[change.path].content == change.before for change in plan.changes)


def after_the_write(error: RunbookError) -> RunbookError:
    """What ended a deploy whose files are written: by then a refusal of the host's is no bad input any more, but a gate
    that failed. A defect stays one."""
    if isinstance(error, GateError | HelperError):
        return error
    return GateError(f"{error} (after the files were written)")


def finish(work: Work, release: Release) -> None:
    """A release that a rollback brought to its end is no longer one that never was."""
    if release.unfinished:
        _update(work, release.id, {"unfinished": False})


def _update(work: Work, release: str, fields: Mapping[str, Any]) -> None:
    """Write what no outcome depends on into a release; that it could not be written is said."""
    try:
        work.wire.call("release_update", state=work.host.state, id=release, fields=fields)
    except (PreflightError, MissingOnHostError, HelperError) as error:
        work.run.note(f"release {release} could not be told that it came to its end: {error}")


def way_back(work: Work, story: Story, seen: Observation, parent: Release) -> Release:
    """Where a deploy goes back to: its parent, or what came before where nobody should go back to that."""
    back, why = lineage.fit(seen.releases, parent), lineage.amiss(parent)
    past = why if back.id != parent.id else ""
    if past:
        work.run.note(f"the way back goes past release {parent.id}, which {past}, to {back.id}")
    story.extra["way_back"] = {"to": back.id, "past": past, "amiss": lineage.amiss(back)}
    return back


def may_return(work: Work, plan: Plan, parent: Release, back: Release, *, serving: bool) -> bool:
    """Whether a rollback by itself to `back`, the parent or what came before it, is right; says why not."""
    reasons = {
        "this run changed no file, so there is nothing to go back from": not plan.changes,
        f"release {parent.id} {lineage.FAILED}": parent.verdict == "failed",
        f"release {back.id} {lineage.NEVER_RAN}": back.unfinished,
        "the service was not serving before the change either": not serving,
    }
    for reason, holds in reasons.items():
        if holds:
            work.run.note(f"not rolled back by itself: {reason}; `rollback` is your choice")
            return False
    return True
