"""What is no rollout: previews of edits and checks of host files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook import adopting, app, edits, endpoint, endpointbench, inventory, opening, shipped
from runbook.errors import EditRefusedError, RunbookError, UsageError
from runbook.events import Run
from runbook.model import Change
from runbook.plan import Plan
from runbook.request import LAB, Request
from runbook.story import Story
from runbook.text import counted, one_line
from runbook.verify import bookkeeping
from runbook.work import utc_now

# Files of systemd by their names; a script has a #! line, or one of these endings
_KINDS = {".conf": "dropin", ".service": "dropin", ".env": "env_file"}
_SCRIPTS = ("", ".sh", ".bash")
LIMIT_BYTES = 8 * 1024 * 1024  # of a script, as on a host (onhost/files.py)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.view import View


def run(request: Request) -> int:
    """Run an action that needs no host; returns the exit code."""
    if request.file is not None:
        return preview(request)
    actions = {
        "hosts.adopt": adopting.run,
        "hosts.check": check_hosts,
        "hosts.list": list_hosts,
        "validate": endpoint.run,
        "bench": endpointbench.run,
    }
    return actions[request.action](request)


def check_hosts(request: Request) -> int:
    """Check host files and their flag ledger; no host needs to be up. Without names, every file in hosts/ but the lab's."""
    view = app.view_of(request)
    names = request.hosts or tuple(name for name in inventory.known(request.hosts_dir) if name != LAB)
    documents = [_check_host(request, name, view) for name in names]
    app.finish(request, view, documents, ())
    if not names:
        view.say(
            f"no host files in {request.hosts_dir} but the lab's; {shipped.shown('hosts/example.yml')} is the manual"
        )
    return app.exit_code([document["exit_code"] for document in documents])


def _check_host(request: Request, name: str, view: View) -> dict[str, Any]:
    told = Run(view.listeners())
    story = Story("hosts.check", name, "", told.steps, told.findings)
    try:
        host = opening.load_host(request, name, say=told.note)
        remarks = bookkeeping.book(host, None, utc_now().date())
        told.find(*remarks)
        told.note(f"{counted(len(host.flags), 'flag')} declared, {counted(len(remarks), 'remark')}")
    except RunbookError as error:
        story.error = error
    document = story.document()
    view.summary(document)
    return document


def preview(request: Request) -> int:
    """Show what --set and --unset would do to a local file; writes nothing, needs no host."""
    assert request.file is not None
    if request.hosts or not request.settings:
        why = "plan --file shows what --set and --unset do to a script here: it needs one of them, and takes no --host"
        return app.refuse(request, UsageError(why))
    path = Path(request.file)
    story = Story("plan", str(path), "", [], [])
    try:
        story.plan = _previewed(path, request.settings)
    except (RunbookError, OSError) as error:
        story.error = error if isinstance(error, RunbookError) else UsageError(f"{path}: {error.strerror}")
    document = story.document()
    view = app.view_of(request)
    if story.plan is not None:
        view.say("\n".join((story.plan.changes[0].diff() or "nothing to change", *story.plan.notes)))
    view.summary(document)
    app.finish(request, view, [document], ())
    return story.exit_code


def _previewed(path: Path, settings: Mapping[str, str | None]) -> Plan:
    before = _content(path)
    kind = _kind(path, before)
    options = {name: value for name, value in settings.items() if name.startswith("-")}
    flags = {name: value for name, value in settings.items() if name not in options}
    if options and kind != "serve_script":
        raise UsageError(f"{path}: launches nothing, so that {', '.join(options)} has no command to stand on")
    try:
        after = _edited(kind, before.decode("utf-8", "surrogateescape"), flags)
        after = _edited("launch_args", after, options) if options else after
        notes = tuple(_unknown(path, after)) if kind == "serve_script" else ()
    except EditRefusedError as refused:
        raise refused.at(str(path)) from refused
    return Plan((Change(str(path), before, after.encode("utf-8", "surrogateescape")),), notes=notes)


def _kind(path: Path, content: bytes) -> str:
    """Which edit knows the file; raises UsageError where neither its name nor its first line says that it is one for us."""
    if (own := edits.script_kind(str(path))) != edits.SHELL:
        return own
    if path.suffix in _KINDS:
        return _KINDS[path.suffix]
    if path.suffix in _SCRIPTS or content.startswith(b"#!"):
        return "serve_script"
    raise UsageError(
        f"{path}: is no serve script: it has no #! line and does not end in .sh; drop-ins and unit files (.conf, .service) "
        "and environment files (.env) are known by their endings"
    )


def _unknown(path: Path, script: str) -> Iterator[str]:
    """What else may set a variable, which the script alone does not tell."""
    found = edits.named("serve_script").read(script)
    if "*" in found.unreadable:
        yield f"not known what it sets: {path}: {found.unreadable['*']}"
    for sourced in found.sourced:
        yield f"not known what it sets: {path}:{sourced.line} sources {one_line(sourced.path)}, which is not read here"


def _content(path: Path) -> bytes:
    """A script's bytes, from a file or a pipe; raises UsageError for what is too long for one, as /dev/zero is."""
    with path.open("rb") as file:
        content = file.read(LIMIT_BYTES + 1)
    if len(content) > LIMIT_BYTES:
        raise UsageError(f"{path}: is longer than {LIMIT_BYTES} bytes, so it is no serve script")
    return content


def _edited(kind: str, text: str, asked: Mapping[str, str | None]) -> str:
    """The text with each name given its value, or taken away (None); an option with an empty value stands alone."""
    values = {name: value for name, value in asked.items() if value is not None}
    alone = {name: value or None for name, value in values.items()} if kind == "launch_args" else values
    return str(edits.named(kind).edit(text, set=alone, unset=[name for name in asked if name not in values]))


def list_hosts(request: Request) -> int:
    """Name every host file; exit 0."""
    names = inventory.known(request.hosts_dir)
    if request.json:
        print(json.dumps(list(names)))  # noqa: T201
    for name in names:
        app.view_of(request).say(name)
    return 0
