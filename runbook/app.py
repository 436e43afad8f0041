"""Composition root: which hosts, what listens, one page each, the documents, the exit code."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

from runbook import inventory, opening, pages, shipped, usercache
from runbook.errors import InterruptedByOperator, MeasureError, RunbookError, UsageError
from runbook.events import Ended, Run
from runbook.interrupt import Interrupt
from runbook.request import LAB, Request
from runbook.story import Defect, Story
from runbook.view import View
from runbook.work import new_id, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runbook.events import Listener
    from runbook.work import Work

# When several hosts or reasons apply, the first of these wins (README, exit codes).
EXIT_ORDER = (4, 1, 5, 3)
DEFECTS = 50  # tracebacks that are kept
LOOKING = ("status", "releases", "logs")  # who needs a host that runs already


def run(request: Request, *, listeners: Sequence[Listener] = ()) -> int:
    """Run one action on its hosts, one after the other; stops at the first that does not pass. Returns the exit code.

    `listeners` hear every event after those of the view.
    """
    view = view_of(request)
    try:
        names = _names(request, view.say)
    except RunbookError as error:
        return refuse(request, error)
    documents: list[dict[str, Any]] = []
    for name in names:
        if len(names) > 1:
            view.say(f"== {name}")
        documents.append(one(request, name, view, listeners))
        if ends_the_row(request, documents[-1]):
            break
    finish(request, view, documents, names[len(documents) :])
    return exit_code([document["exit_code"] for document in documents])


def ends_the_row(request: Request, document: Mapping[str, Any]) -> bool:
    """Whether the hosts behind this one are left alone: how one stands is no reason not to look at the others."""
    code: int = document["exit_code"]
    return code == InterruptedByOperator.exit_code if request.action == "status" else code != 0


def _names(request: Request, say: Callable[[str], None]) -> tuple[str, ...]:
    """The hosts asked for, else RUNBOOK_HOST, else the lab while it is the only one, which is said."""
    known = inventory.known(request.hosts_dir)
    if request.hosts:
        return request.hosts
    if named := os.environ.get("RUNBOOK_HOST"):
        return (named,)
    if set(known) <= {LAB}:
        say(
            f"no host file of yours in {request.hosts_dir}: this is the lab (hosts.adopt writes one of a live host)"
        )
        _require_up(request)
        return (LAB,)
    raise UsageError(f"which host? --host NAME, or RUNBOOK_HOST; known hosts: {', '.join(known)}")


def _require_up(request: Request) -> None:
    """Who only looks, and named no host, gets no lab made for that; raises MeasureError."""
    if request.action not in LOOKING:
        return
    from runbook import lab  # only who has no host pays for it

    if lab.status(request.directory / ".lab") is None:
        up = f"{shipped.command()} lab.up"
        raise MeasureError(
            f"the lab is not up, so there is nothing to look at; `{up}` starts it, as a deploy does"
        )


def view_of(request: Request) -> View:
    return View(sys.stdout, silent=request.json, verbose=request.verbose)


def one(request: Request, name: str, view: View, listeners: Sequence[Listener] = ()) -> dict[str, Any]:
    """One host, from its file to its document."""
    interrupt = Interrupt()

    def page(told: Run, rollout_id: str) -> Story:
        with interrupt.listening(), opening.work(request, name, told, rollout_id, interrupt, view) as work:
            story = pages.page(request.action)(work, request.options)
            _mirror(work, request, story)
            keep_bench(request, told, story)
        return story

    told = Run([*view.listeners(), *listeners], checkpoint=interrupt.checkpoint)
    return document_of(request, name, view, told, page)


def document_of(
    request: Request, name: str, view: View, told: Run, page: Callable[[Run, str], Story]
) -> dict[str, Any]:
    """The document of a page, told with a new rollout id, whatever ended it; summed up on the view."""
    rollout_id = new_id(utc_now())
    try:
        story = page(told, rollout_id)
    except (RunbookError, KeyboardInterrupt) as error:
        story = Story(request.action, name, rollout_id, told.steps, told.findings, error=error)
    except Exception as error:  # noqa: BLE001 - the one place: a defect of ours becomes exit 70, with its traceback kept
        _keep_traceback(request, rollout_id)
        story = (
            error.story
            if isinstance(error, Defect)
            else Story(request.action, name, rollout_id, told.steps, told.findings, error=error)
        )
    document = story.document()
    view.summary(document)
    told.tell(Ended(document))
    return document


def _mirror(work: Work, request: Request, story: Story) -> None:
    """Copy new audit records here; a mirror that cannot be written is said and changes no outcome."""
    if story.audit is None:
        return
    from runbook import audit  # only what ends in a record pays for it

    try:
        copied = audit.mirror(work.wire, work.host, audit.directory(request.directory), work.now())
    except (RunbookError, OSError) as error:
        work.run.note(f"the audit mirror here was not updated: {error}")
        return
    if copied.note:
        work.run.note(copied.note)


def keep_bench(request: Request, told: Run, story: Story) -> None:
    """Write the result of a bench to where the command line says; where that fails, it is the story's error."""
    measured = story.measured
    if measured.bench is None or not (request.save or request.output):
        return
    from runbook import benches

    try:
        if request.output is not None:
            benches.write(request.output, measured.bench, measured.requests)
        if request.save is not None:
            benches.save(request.save, measured.bench)
            story.extra["saved"] = str(request.save)
            told.note(f"kept in {request.save}: --against {request.save.stem} compares with it")
    except UsageError as error:
        story.error = story.error or error


def _keep_traceback(request: Request, rollout_id: str) -> None:
    """Keep a defect's traceback in a file, beside the youngest others; where no file can be written it is shown."""
    trace = traceback.format_exc()
    path = request.directory / ".runbook" / "defects" / f"{rollout_id}.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(trace, "utf-8", "backslashreplace")
        usercache.prune(path, DEFECTS)
    except OSError as error:
        print(f"{trace}this is a defect of runbook; {path} cannot be written: {error}", file=sys.stderr)  # noqa: T201
    else:
        print(f"this is a defect of runbook; the traceback is in {path}", file=sys.stderr)  # noqa: T201


def refuse(request: Request, error: RunbookError) -> int:
    """End before any host was touched; returns the error's exit code."""
    document = Story(request.action, ",".join(request.hosts), "", [], [], error=error).document()
    if request.json:
        print(json.dumps(document))  # noqa: T201
    view_of(request).summary(document)
    return error.exit_code


def finish(
    request: Request, view: View, documents: Sequence[dict[str, Any]], not_started: Sequence[str]
) -> None:
    if request.json:
        print(json.dumps(documents[0] if len(documents) == 1 and not not_started else list(documents)))  # noqa: T201
    elif not_started:
        view.say(f"not started: {', '.join(not_started)}")


def exit_code(codes: Sequence[int]) -> int:
    return next((code for code in EXIT_ORDER if code in codes), max(codes, default=0))
