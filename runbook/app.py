"""Composition root: finds the host, opens the connection, attaches listeners, runs, returns an exit code."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook import bundle, inventory, pages, provenance, ssh, tunnel
from runbook.calling import TellingWire
from runbook.errors import RunbookError, UsageError
from runbook.events import Ended, Run
from runbook.interrupt import Interrupt
from runbook.options import Options
from runbook.story import Story
from runbook.view import View
from runbook.work import Work, new_id, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runbook.events import Listener
    from runbook.model import Host
    from runbook.ssh import Mode

LAB = "lab"
# What an action may do on the host (docs/architecture.md, "The wire").
MODES: Mapping[str, Mode] = {
    "plan": "reading",
    "status": "reading",
    "releases": "reading",
    "logs": "reading",
    "verify": "running",
    "validate": "running",
    "bench": "running",
    "deploy": "writing",
    "rollback": "writing",
    "restart": "writing",
}
ASKING = ("deploy", "rollback", "restart")
# When several hosts or reasons apply, the first of these wins (README, exit codes).
EXIT_ORDER = (4, 1, 5, 3)


@dataclass(frozen=True, slots=True)
class Request:
    """One command line. `settings` maps flag names to the value of --set, None for --unset.

    `address` and `units` are those of hosts.adopt. `url`, `replay` and `load_options` are those of validate without a
    host; the last are options of `python -m runbook.load repro` by their names there, without dashes. `save` is where the
    result of a bench will stand, `output` where it will with every request.
    """

    action: str
    hosts: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)
    settings: Mapping[str, str | None] = field(default_factory=dict)
    yes: bool = False
    json: bool = False
    verbose: bool = False
    accept_new: bool = False
    reason: str = ""
    file: str | None = None
    address: str | None = None
    units: tuple[str, ...] = ()
    url: str | None = None
    replay: str | None = None
    load_options: Mapping[str, str] = field(default_factory=dict)
    save: Path | None = None
    output: Path | None = None
    directory: Path = field(default_factory=Path.cwd)

    @property
    def hosts_dir(self) -> Path:
        return self.directory / "hosts"


def run(request: Request, *, listeners: Sequence[Listener] = ()) -> int:
    """Run one action on its hosts, one after the other; stops at the first that does not pass. Returns the exit code.

    `listeners` hear every event after those of the view.
    """
    view = view_of(request)
    try:
        names = _names(request)
    except RunbookError as error:
        return refuse(request, error)
    documents: list[dict[str, Any]] = []
    for name in names:
        documents.append(one(request, name, view, listeners))
        if documents[-1]["exit_code"] != 0:
            break
    finish(request, view, documents, names[len(documents) :])
    return exit_code([document["exit_code"] for document in documents])


def _names(request: Request) -> tuple[str, ...]:
    """The hosts asked for, else RUNBOOK_HOST, else the lab while it is the only one."""
    known = inventory.known(request.hosts_dir)
    if request.hosts:
        return request.hosts
    if named := os.environ.get("RUNBOOK_HOST"):
        return (named,)
    if set(known) <= {LAB}:
        return (LAB,)
    raise UsageError(f"which host? --host NAME, or RUNBOOK_HOST; known hosts: {', '.join(known)}")


def _require_answerable(request: Request, name: str, *, interactive: bool) -> None:
    asks = request.action in ASKING and not request.options.dry_run and name != LAB
    if asks and not request.yes and not interactive:
        raise UsageError(f"{request.action} asks before it changes a host: without a terminal it needs --yes")


def view_of(request: Request) -> View:
    return View(sys.stdout, silent=request.json, verbose=request.verbose)


def one(request: Request, name: str, view: View, listeners: Sequence[Listener] = ()) -> dict[str, Any]:
    """One host, from its file to its document."""
    interrupt = Interrupt()

    def page(told: Run, rollout_id: str) -> Story:
        with interrupt.listening(), _work(request, name, told, rollout_id, interrupt, view) as work:
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
        story = Story(request.action, name, rollout_id, told.steps, told.findings, error=error)
    document = story.document()
    view.summary(document)
    told.tell(Ended(document))
    return document


@contextlib.contextmanager
def _work(
    request: Request, name: str, told: Run, rollout_id: str, interrupt: Interrupt, view: View
) -> Iterator[Work]:
    declared = load_host(request, name, say=told.note)
    host = _overridden(declared, request, say=told.note) if request.settings else declared
    _require_answerable(request, name, interactive=view.interactive and not view.silent)
    mode: Mode = "reading" if request.options.dry_run else MODES[request.action]
    sign = _signature(request, host, mode)
    if host.notify and mode != "reading":
        _notify(host, request, told, rollout_id)
    ask = view.secret if view.interactive else None
    with contextlib.ExitStack() as stack:
        with told.step(f"connect {host.ssh.address}"):
            link = stack.enter_context(ssh.connect(host.ssh, accept_new=request.accept_new, ask=ask))
            # Importing the page costs about as long as the host takes to start the helper: the two go side by side.
            threading.Thread(target=pages.page, args=(request.action,), daemon=True).start()
            wire = stack.enter_context(
                link.open_wire(
                    mode,
                    python=host.python,
                    become=host.become,
                    payload=bundle.helper_payload,
                    state=host.state,
                    scope=host.scope,
                )
            )
        yield Work(
            host=host,
            run=told,
            wire=TellingWire(wire, told.tell),
            tunnel=stack.enter_context(tunnel.Tunnel(link)),
            rollout=rollout_id,
            operator=provenance.operator(request.directory, link.fingerprint, audited=mode != "reading"),
            tool=provenance.tool(request.directory) if mode != "reading" else {},
            reason=request.reason,
            sign=sign,
            overrides=inventory.overriding(declared, request.settings),
            api_key=_api_key(host),
            confirm=_confirmed(request, name, view),
            offer=view.ask,
            checkpoint=interrupt.checkpoint,
        )


def _notify(host: Host, request: Request, told: Run, rollout_id: str) -> None:
    """Tell the host's webhooks of this rollout, from now to its end."""
    from runbook import notify

    found = notify.receivers(host.notify, os.environ, told.note)
    rollout = {"action": request.action, "host": host.name, "rollout": rollout_id}
    told.listen(notify.Outbox(found, rollout, say=told.note))


def _overridden(declared: Host, request: Request, *, say: Callable[[str], None]) -> Host:
    """The host as --set and --unset want it; what the flag ledger remarks of these flags is said, and stops nothing."""
    from runbook.verify import bookkeeping

    host = inventory.overridden(declared, request.settings)
    for finding in bookkeeping.of_flags(host, request.settings, utc_now().date()):
        say(finding.message)
    return host


def _signature(request: Request, host: Host, mode: Mode) -> Callable[[bytes], str] | None:
    """What signs the audit record; raises UsageError where a change would be told of less than the host's policy wants."""
    if mode == "reading":
        return None
    from runbook.audit import policy

    signer = policy.signer(os.environ)
    if mode == "writing":
        policy.require(host, request.action, request.reason, signed=signer is not None)
    return signer.sign if signer else None


def load_host(request: Request, name: str, *, say: Callable[[str], None]) -> Host:
    """The host of a name as its file says; brings the lab up when it is asked for."""
    variables = None
    if name == LAB:
        from runbook import lab

        variables = {"lab": lab.up(request.directory / ".lab", say=say).variables()}
    return inventory.load(name, hosts_dir=request.hosts_dir, variables=variables)


def _api_key(host: Host) -> str | None:
    if host.api_key_env is None:
        return None
    from runbook.load import apikey  # most hosts want none

    try:
        return apikey.read(host.api_key_env, os.environ)
    except apikey.BadKey as error:
        raise UsageError(f"{host.source}: api_key_env: {error}") from None


def _confirmed(request: Request, name: str, view: View) -> Callable[[str], bool]:
    return (lambda question: True) if request.yes or name == LAB else view.ask


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
    """Keep a defect's traceback in a file; where no file can be written it is shown."""
    trace = traceback.format_exc()
    path = request.directory / ".runbook" / "defects" / f"{rollout_id}.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(trace, "utf-8", "backslashreplace")
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
