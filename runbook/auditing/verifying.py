"""audit.verify: is every record the one that was written, and is the end of the chain there?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook import app, audit
from runbook.audit.mirroring import head
from runbook.auditing import checks
from runbook.auditing.fetching import fetch
from runbook.errors import RunbookError, UsageError
from runbook.events import Run
from runbook.story import Story

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runbook.auditing.asked import Asked
    from runbook.verdict import Finding
    from runbook.view import View


def run(asked: Asked) -> int:
    """Check the hosts named against their own chains, or else every mirror here; returns the exit code."""
    view = app.view_of(asked.request)
    names = asked.request.hosts or _mirrored(asked.mirrors)
    if not names:
        raise UsageError(f"no audit mirror in {asked.mirrors}: audit.verify --host NAME reads a host's chain")
    documents = [_one(asked, name, view, headed=len(names) > 1) for name in names]
    app.finish(asked.request, view, documents, ())
    return app.exit_code([document["exit_code"] for document in documents])


def _mirrored(directory: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in directory.glob("*.jsonl")))


def _one(asked: Asked, name: str, view: View, *, headed: bool) -> dict[str, Any]:
    if headed:
        view.say(f"== {name}")
    told = Run(view.listeners())
    story = Story("audit.verify", name, "", told.steps, told.findings)
    look = _on_the_host if asked.request.hosts else _here
    try:
        for finding in look(asked, name, told, view):
            told.find(finding)
    except (RunbookError, OSError) as error:
        story.error = error if isinstance(error, RunbookError) else UsageError(str(error))
    document = story.document()
    view.summary(document)
    return document


def _on_the_host(asked: Asked, name: str, told: Run, view: View) -> Iterator[Finding]:
    """The host's chain, its journal's heads, and the copy here."""
    before = head(audit.path_of(asked.request.directory, name))
    found = fetch(asked, name, told, view)
    yield checks.chain(found.chain)
    yield checks.journal(found.chain, found.heads, found.silent, copied=before)
    yield checks.mirrored(found.mirrored, before)
    yield from _common(asked, name, found.chain)


def _here(asked: Asked, name: str, told: Run, view: View) -> Iterator[Finding]:
    """The mirror by itself, against the head noted beside it."""
    path = audit.path_of(asked.request.directory, name)
    noted = head(path)  # before the copy, which another run may prolong meanwhile
    content = path.read_bytes()
    yield checks.chain(content)
    yield checks.note(content, noted)
    yield from _common(asked, name, content)


def _common(asked: Asked, name: str, content: bytes) -> Iterator[Finding]:
    path = audit.path_of(asked.request.directory, name)
    yield from checks.aside(content, path)
    yield from checks.signatures(content, asked.allowed_signers, required=asked.signed)
