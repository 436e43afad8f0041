"""What the findings mean for the release, and whether to go back by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.verdict import Outcome, worst

if TYPE_CHECKING:
    from runbook.model import Release
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
    return ("unproven" if story.extra.get("validated") is False else "proven"), "keep"


def mark(work: Work, story: Story, verdict: str) -> None:
    """Write a deploy's verdict and results into its release.

    A run that changed no file and concluded nothing learned nothing: an earlier verdict and its figures stay.
    """
    if verdict == "unproven" and story.plan and not story.plan.changes and not _concluded(story):
        work.run.note(
            f"release {story.release} keeps its verdict: no file was changed, nothing was concluded"
        )
        return
    with work.run.step("verdict") as step:
        fields: dict[str, Any] = {"verdict": verdict, "validations": story.measured.validations}
        if story.measured.bench is not None:
            fields["bench"] = story.measured.bench
        work.wire.call("release_update", state=work.host.state, id=story.release, fields=fields)
        step.detail = f"release {story.release} is {verdict}"


def _concluded(story: Story) -> bool:
    """Something was measured, and one of the answers was no."""
    failed = any(finding.outcome is Outcome.FAIL for finding in story.findings)
    return bool(story.measured.validations) and failed


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
