"""What the findings mean for the release, and whether to go back by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.errors import GateError, HelperError, MissingOnHostError, PreflightError
from runbook.verdict import Outcome, worst

if TYPE_CHECKING:
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


def mark(work: Work, story: Story, verdict: str) -> None:
    """Write a deploy's verdict and results into its release.

    A run that changed no file and concluded nothing learned nothing: an earlier verdict and its figures stay.
    """
    if verdict == "unproven" and story.plan and not story.plan.changes and not _concluded(story):
        work.run.note(
            f"release {story.release} keeps its verdict: no file was changed, nothing was concluded"
        )
        return
    fields: dict[str, Any] = {"verdict": verdict, "validations": story.measured.validations}
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


def may_return(work: Work, plan: Plan, parent: Release, *, serving: bool) -> bool:
    """Whether a rollback by itself is right; says why not."""
    reasons = {
        "this run changed no file, so there is nothing to go back from": not plan.changes,
        f"release {parent.id} failed its own verdict": parent.verdict == "failed",
        "the service was not serving before the change either": not serving,
    }
    for reason, holds in reasons.items():
        if holds:
            work.run.note(f"not rolled back by itself: {reason}; `rollback` is your choice")
            return False
    return True
