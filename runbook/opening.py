"""From a host's name to a rollout at work on it: the host file, the login, the helper, the operator."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from runbook import bundle, inventory, observation, pages, provenance, ssh, tunnel
from runbook.calling import TellingWire
from runbook.errors import UsageError
from runbook.request import LAB
from runbook.ssh.row import asked
from runbook.work import Work, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runbook.audit.owed import Owed
    from runbook.events import Run
    from runbook.interrupt import Interrupt
    from runbook.model import Host
    from runbook.request import Request
    from runbook.ssh import Mode
    from runbook.ssh.link import Link
    from runbook.ssh.row import Asked
    from runbook.ssh.wire import OpenWire
    from runbook.view import View

T = TypeVar("T")

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
OFFERED_S = 300.0
"""How long the way back is offered to who stopped a deploy: meanwhile it holds the host's lock."""


@contextlib.contextmanager
def work(
    request: Request, name: str, told: Run, rollout_id: str, interrupt: Interrupt, view: View
) -> Iterator[Work]:
    """A host at work, with all that a page of the request's action needs; what is opened for it is closed behind it.

    Raises UsageError and HostFileError before anything is reached, then what login and helper raise.
    """
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
            # These cost about as long as the host takes to start the helper: they go side by side.
            near_end = _beside(lambda: _near_end(request, link, audited=mode != "reading"))
            _beside(lambda: pages.import_ahead(request.action))
            wire = stack.enter_context(_wire(link, request, host, mode))
        operator, tool = near_end()
        yield Work(
            host=host,
            run=told,
            wire=TellingWire(wire, told.tell),
            tunnel=stack.enter_context(tunnel.Tunnel(link)),
            rollout=rollout_id,
            operator=operator,
            tool=tool,
            reason=request.reason,
            sign=sign,
            overrides=inventory.overriding(declared, request.settings),
            undeclared=inventory.undeclared(declared, request.settings),
            api_key=_api_key(host),
            owed=_owed(request, host) if mode != "reading" else None,
            asks=not _said_yes(request, name),
            confirm=(lambda question: True) if _said_yes(request, name) else view.ask,
            offer=lambda question: view.ask(question, within_s=OFFERED_S),
            checkpoint=interrupt.checkpoint,
        )


def _owed(request: Request, host: Host) -> Owed:
    from runbook.audit import directory, owed  # only what ends in a record pays for it

    return owed.Owed(directory(request.directory), host.name)


def _wire(link: Link, request: Request, host: Host, mode: Mode) -> OpenWire:
    """The helper on the host, asked with its start what the action asks first."""
    return link.open_wire(
        mode,
        python=host.python,
        become=host.become,
        payload=bundle.helper_payload,
        state=host.state,
        scope=host.scope,
        ahead=_first(request.action, host, mode),
    )


def _beside(make: Callable[[], T]) -> Callable[[], T]:
    """Begin `make` in a thread of its own; returns what waits for its value. What fails there is made again here, to be told.

    Not an executor's, which the interpreter waits for when it exits: git may hang.
    """
    made: list[T] = []

    def run() -> None:
        with contextlib.suppress(OSError, LookupError):
            made.append(make())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def value() -> T:
        thread.join()
        return made[0] if made else make()

    return value


def _near_end(request: Request, link: Link, *, audited: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Who asks and with which tool, as far as an audit would want to know it."""
    if not audited:
        return provenance.operator(), {}
    return provenance.near_end(request.directory, link.fingerprint)


def _first(action: str, host: Host, mode: Mode) -> tuple[Asked, ...]:
    """The calls an action begins with: what the host is, where a record will say it, and one look at all of it."""
    look = () if action == "logs" else (asked("observe", **observation.question(host)),)
    return look if mode == "reading" else (asked("machine", checkout=host.checkout), *look)


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
    names = inventory.overriding(declared, request.settings)
    for finding in bookkeeping.of_settings(declared, host, names, utc_now().date()):
        say(finding.message)
    return host


def _signature(request: Request, host: Host, mode: Mode) -> Callable[[bytes], str] | None:
    """What signs the audit record; raises UsageError where a change would be told of less than the host's policy wants."""
    if mode == "reading":
        return None
    from runbook import policy

    signer = policy.signer(os.environ)
    if mode == "writing":
        policy.require(host, request.action, request.reason, signed=signer is not None)
    return signer.sign if signer else None


def load_host(request: Request, name: str, *, say: Callable[[str], None]) -> Host:
    """The host of a name as its file says; brings the lab up when it is asked for. Says who else could have written the file."""
    variables = None
    if name == LAB:
        from runbook import lab

        variables = {"lab": lab.up(request.directory / ".lab", say=say).variables()}
    host = inventory.load(name, hosts_dir=request.hosts_dir, variables=variables)
    for warning in inventory.exposed(host, hosts_dir=request.hosts_dir):
        say(warning)
    return host


def _api_key(host: Host) -> str | None:
    if host.api_key_env is None:
        return None
    from runbook.load import apikey  # most hosts want none

    try:
        return apikey.read(host.api_key_env, os.environ)
    except apikey.BadKey as error:
        raise UsageError(f"{host.source}: api_key_env: {error}") from None


def _said_yes(request: Request, name: str) -> bool:
    return request.yes or name == LAB


def _require_answerable(request: Request, name: str, *, interactive: bool) -> None:
    asks = request.action in ASKING and not request.options.dry_run
    if asks and not _said_yes(request, name) and not interactive:
        raise UsageError(f"{request.action} asks before it changes a host: without a terminal it needs --yes")
