"""hosts.adopt: read a live host and write a host file that declares what is there, for a person to fill in the reasons."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from runbook import app, bundle, foundservice, inventory, ledger, observation, shipped, ssh
from runbook.errors import MissingOnHostError, PreflightError, RunbookError, UsageError
from runbook.events import Run
from runbook.model import SshTarget
from runbook.places.names import PATTERNS
from runbook.request import LAB, Request
from runbook.story import Story
from runbook.text import one_line
from runbook.work import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runbook.foundservice import Found
    from runbook.model import Observation, Unit
    from runbook.ssh import Wire
    from runbook.ssh.link import Link
    from runbook.ssh.wire import OpenWire
    from runbook.view import View

WORDS = ("sglang", "vllm", "llama")
_ADDRESS = re.compile(r"(?:(?P<user>[^@\s]+)@)?(?P<host>\[[^\]]+\]|[^:@\s]+)(?::(?P<port>\d{1,5}))?")
_NAME = r"[A-Za-z0-9](?:[._-]?[A-Za-z0-9])*"
_LONGEST = 100
_NO_STATE = "/nonexistent/runbook"  # only units are looked at; state that is there may be another user's


def run(request: Request, *, target: SshTarget | None = None) -> int:
    """Write hosts/<name>.yml from what a host shows; returns the exit code. `target` stands in for the address."""
    view = app.view_of(request)
    told = Run(view.listeners())
    story = Story("hosts.adopt", ",".join(request.hosts), "", told.steps, told.findings)
    try:
        path = _free_path(request)
        text = _text(request, target or address(request.address or request.hosts[0]), told, view)
        _write(path, text)
        inventory.load(path.stem, hosts_dir=request.hosts_dir)
        story.extra = {"path": str(path), "text": text}
        told.note(
            f"wrote {path}: fill in the reasons, then `{shipped.command()} hosts.check --host {path.stem}`; by `traffic: live` no"
            " deploy or verify loads the host without --load, and only one with it proves a release"
        )
    except RunbookError as error:
        story.error = error
    document = story.document()
    view.summary(document)
    app.finish(request, view, [document], ())
    return story.exit_code


def _free_path(request: Request) -> Path:
    """Where the file will stand; raises UsageError unless it is one new name."""
    if len(request.hosts) != 1:
        raise UsageError("hosts.adopt wants one --host NAME, the name of the file it writes")
    name = request.hosts[0]
    if not re.fullmatch(_NAME, name) or len(name) > _LONGEST or name in (LAB, "example"):
        raise UsageError(
            f"{one_line(name, 80)!r} is no name for a host file: letters, digits, dots and dashes, and not the lab's"
        )
    path = request.hosts_dir / f"{name}.yml"
    if path.exists():
        raise UsageError(f"{path} is there already; move it away first, or adopt under another name")
    return path


def address(text: str) -> SshTarget:
    """`[user@]host[:port]`, or an alias of ~/.ssh/config; raises UsageError."""
    found = _ADDRESS.fullmatch(text)
    if found is None or text.startswith("-"):
        raise UsageError(f"--address wants [user@]host[:port] or an alias, found {text!r}")
    port = found["port"]
    return SshTarget(found["host"].strip("[]"), user=found["user"], port=int(port) if port else None)


def _text(request: Request, target: SshTarget, told: Run, view: View) -> str:
    ask = view.secret if view.interactive else None
    with told.step(f"connect {target.address}"):
        link = ssh.connect(target, accept_new=request.accept_new, ask=ask)
    with link, told.step("look for serving units") as step:
        found = find(partial(_asked, link), request.units)
        step.detail = ", ".join(unit.name for unit in found.units)
    if found.kept:
        told.note(
            f"{found.kept} on this host keeps releases of these units: the file shares them, and their lock"
        )
    return inventory.adopt_text(
        request.hosts[0], ssh=target, units=found.units, environments=found.environments,
        model=found.model, today=utc_now().date(), notes=found.notes, state_dir=found.state_dir,
        spare=found.spare, kept=found.kept,
    )  # fmt: skip


def _asked(link: Link, scope: str) -> OpenWire:
    return link.open_wire("reading", payload=bundle.helper_payload, state=_NO_STATE, scope=scope)


def find(ask: Callable[[str], OpenWire], named: tuple[str, ...]) -> Found:
    """The machine's serving units, or where it has none those of the login user; `ask` opens a wire to units of a scope.

    Raises MissingOnHostError with what was found of neither.
    """
    try:
        with ask("system") as wire:
            return look(wire, named)
    except MissingOnHostError as none:
        missing = none
    try:
        with ask("user") as wire:
            return look(wire, named, "user")
    except (MissingOnHostError, PreflightError) as error:
        raise MissingOnHostError(f"{missing}; and of the login user's own: {error}") from error


def look(wire: Wire, named: tuple[str, ...], scope: str = "system") -> Found:
    """What a host shows of its serving units; raises MissingOnHostError where there are none, PreflightError where the login
    may not read their scripts."""
    bare = foundservice.units(wire.call("serving", units=list(named), words=list(WORDS)))
    if not bare:
        raise MissingOnHostError(
            f"no service unit of this host mentions {', '.join(WORDS)}; name the units with --unit"
        )
    catalogue = ledger.parse(inventory.document(ledger.SHIPPED))
    return foundservice.described(bare, _observe(wire, bare, scope), catalogue, scope)


def _observe(wire: Wire, units: tuple[Unit, ...], scope: str) -> Observation:
    scripts = list(dict.fromkeys(unit.script for unit in units if unit.script))
    names, asked = [unit.name for unit in units], ["HOME"] if scope == "user" else []
    answer = wire.call(
        "observe", state=_NO_STATE, files=scripts, units=names, names=asked, patterns=list(PATTERNS)
    )
    seen = observation.parse(answer)
    if closed := observation.denied(seen, scripts):
        who = seen.facts.get("user") or "the login"
        raise PreflightError(
            f"not readable as {who}: {', '.join(closed)}; log in for this once as one who may read it, as root@…"
        )
    return seen


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
