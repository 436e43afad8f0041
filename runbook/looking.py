"""plan, status, releases and logs of one host: pages that only look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook import alongside, handedits, leftovers, remembered
from runbook.observation import require_units
from runbook.stages import telling
from runbook.text import counted
from runbook.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from runbook.model import Host, Observation, Unit
    from runbook.options import Options
    from runbook.plan import Plan
    from runbook.story import Story
    from runbook.work import Work


def plan(work: Work, options: Options) -> Story:
    """Show what a deploy would do; reads only."""
    story = telling.begin(work, "plan")
    with telling.told(work, story, audited=False):
        planned(work, story)
    return story


def status(work: Work, options: Options) -> Story:
    """What runs, since when, and whether it is what should run; reads only. What is not well is told by the screen itself."""
    story = telling.begin(work, "status")
    with telling.told(work, story, audited=False):
        seen = work.observe()
        require_units(work.host, seen)
        story.release = seen.current
        from runbook.stages import amiss, standing  # here, since only this page pays for them

        _remark(work, seen)
        story.extra["status"] = standing.status(work, seen)
        work.run.show("status", story.extra["status"])
        story.findings = amiss.findings(story.extra["status"])
    return story


def list_releases(work: Work, options: Options) -> Story:
    """The releases the host keeps, newest first."""
    story = telling.begin(work, "releases")
    with telling.told(work, story, audited=False):
        seen = work.observe()
        story.release = seen.current
        from runbook import releases  # here and below, since a plan does without

        _remark(work, seen)
        story.extra["releases"] = releases.table(seen)
        work.run.show("releases", story.extra["releases"])
    return story


def _remark(work: Work, seen: Observation) -> None:
    from runbook import releases

    for remark in (*releases.remarks(seen), *alongside.at_work_beside(seen), *alongside.kept_beside(seen)):
        work.run.note(remark)


def logs(work: Work, options: Options) -> Story:
    """The last lines of the units' journals; reads only."""
    story = telling.begin(work, "logs")
    with telling.told(work, story, audited=False):
        from runbook.stages import choosing  # as above

        story.extra["logs"] = [
            _journal(work, unit, options) for unit in choosing.units(work.host, options.units)
        ]
        work.run.show("logs", story.extra["logs"])
    return story


def _journal(work: Work, unit: Unit, options: Options) -> dict[str, Any]:
    answer = work.wire.call(
        "journal", unit=unit.name, lines=options.lines, since=options.since, grep=options.grep
    )
    return {"role": unit.role, "unit": unit.name, "lines": str(answer["text"]).splitlines()}


def looked(
    work: Work, story: Story, *required: Callable[[Host, Observation], None], alone: bool = False
) -> Observation:
    """Look at the host once, as a step that fails where something `required` is not there.

    Where somebody is at work there, who wants to be `alone` gets LockedError, and anybody else a note. That the host keeps
    releases of the same units elsewhere, too, is a warning.
    """
    with work.run.step("observe"):
        seen = work.observe()
        if alone:
            alongside.refuse(seen)
        for require in required:
            require(work.host, seen)
    if busy := alongside.at_work(seen):
        work.run.note(f"!! {busy}: what is seen may change")
    if beside := alongside.kept_beside(seen):
        telling.warn(work, story, beside)
    return seen


def _tell_books(work: Work) -> None:
    """What `verify` and `hosts.check` fail of the host file, and what they take for misspelt, stops no plan and no deploy, and
    is said; of --set it was."""
    for found in remembered.amiss(work.host, work.now().date()):
        if found.evidence.get("flag") not in work.overrides:
            fails = found.outcome is Outcome.FAIL
            work.run.note(
                f"warning: {found.message} (verify and hosts.check fail it)" if fails else found.message
            )


def tell_edits(work: Work, story: Story, seen: Observation) -> None:
    """Say what a hand changed of the current release, and keep it for the last lines: a start that fails may fail for it."""
    if edits := handedits.tell(seen, work.run.note):
        story.extra["edited"] = {"release": edits[0].release, "files": [edit.told for edit in edits]}


def planned(work: Work, story: Story, *, alone: bool = False) -> tuple[Observation, Plan]:
    """Look at the host once, as `looked` does, and plan a deploy from that; shown as the plan."""
    seen = looked(work, story, require_units, handedits.require_scripts, alone=alone)
    tell_edits(work, story, seen)
    _tell_books(work)
    with work.run.step("plan") as step:
        plan = story.plan = _remarked(work, seen, remembered.deploy(work.host, seen))
        planned = f"{counted(len(plan.changes), 'file')}, {counted(len(plan.restarts), 'restart')}"
        step.detail = f"{planned}, digest {plan.digest[:12]}"
    work.run.show("plan", plan)
    return seen, plan


def _remarked(work: Work, seen: Observation, plan: Plan) -> Plan:
    """The plan, noting what --set left and it leaves, and names of launch arguments that no engine is known to have: one
    that is misspelt stops a start."""
    host = work.host
    if left := leftovers.standing(host, leftovers.names(seen), plan.wanted):
        plan = plan._replace(notes=(*plan.notes, leftovers.told(left)))
    if not any(unit.args for unit in host.units):
        return plan
    from runbook.verify import optionnames  # as above: most hosts declare none

    return plan._replace(notes=(*plan.notes, *(found.message for found in optionnames.remarks(host))))
