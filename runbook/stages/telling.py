"""The story of a page, told whatever ends it: document and audit record."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from runbook import shipped
from runbook.errors import RunbookError, UsageError
from runbook.stages import inflight
from runbook.story import Defect, Story

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator, Mapping, Sequence

    from runbook.work import Work


def begin(work: Work, action: str) -> Story:
    """The story of an action that begins now."""
    run = work.run
    given = {"overrides": dict(work.overrides), "undeclared": list(work.undeclared)}
    extra = {name: value for name, value in given.items() if value}
    return Story(
        action, work.host.name, work.rollout, run.steps, run.findings, extra=extra, courses=run.courses
    )


@contextlib.contextmanager
def told(work: Work, story: Story, *, audited: bool) -> Iterator[None]:
    """Whatever ends a rollout, its record is written; errors of ours and a second Ctrl-C end it, foreign ones go on up
    as a Defect, which keeps the story. A command line that only the host could tell to make no sense was no rollout."""
    started = work.now()
    if audited:
        from runbook.stages import recording  # pages that only look keep no record and pay for none

        # A link lost here ends what has not begun, and there is nobody left to tell: it goes on up.
        story.facts = recording.machine(work)
    try:
        yield
    except (RunbookError, KeyboardInterrupt) as error:
        story.error = error
    except BaseException as error:
        story.error = error
        if isinstance(error, Exception):
            raise Defect(story) from error
        raise
    finally:
        if audited and not _misspelt(story):
            append_record(work, story, started)


def warn(work: Work, story: Story, warnings: Sequence[str]) -> None:
    """Say what stops nothing and should be known: in the document and the record, too."""
    for warning in warnings:
        work.run.note(warning)
    story.extra["warnings"] = [*story.extra.get("warnings", ()), *warnings]


def _misspelt(story: Story) -> bool:
    """A release or unit that is not there, named on the command line: nothing was begun."""
    return isinstance(story.error, UsageError) and not (story.measured.bench or story.measured.validations)


def append_record(work: Work, story: Story, started: datetime.datetime) -> None:
    """Append the audit record on the host; a host that cannot take it is said, and the story's error stays first."""
    from runbook.stages import recording  # as above

    record = recording.record(work, story, started)
    try:
        story.audit = recording.append(work, record)
        work.run.show("audit", {**record, **story.audit})
    except RunbookError as error:
        work.run.show("audit", {**record, "seq": None, "hash": None})
        work.run.note(
            f"the audit record could not be appended on the host: {error}{_kept_here(work, record)}"
        )
        story.error = story.error or _unrecorded(error)
        return
    if story.settled:
        _settle(work, story)


def _kept_here(work: Work, record: Mapping[str, Any]) -> str:
    """Keep what the host could not take, until somebody can write it there; says where it is found."""
    if work.owed is None:
        return ""
    try:
        work.owed.keep(record)
    except OSError as error:
        return f"; nor could it be kept here: {error}"
    return f"; it is kept here for now (`{shipped.command()} audit.show {record['id']}`)"


def _settle(work: Work, story: Story) -> None:
    """Nothing is under way any more. Not before its record is kept: a rollout without one is found by whoever comes next."""
    try:
        inflight.settle(work)
    except RunbookError as error:
        story.error = story.error or error


def _unrecorded(error: RunbookError) -> RunbookError:
    """The same error, saying what failed: alone it would read as if the rollout itself had."""
    told = type(error)(f"the audit record is not on the host: {error}")
    told.data = error.data
    return told
