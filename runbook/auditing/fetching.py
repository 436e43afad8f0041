"""A host's chain and what its journal knows of it, read over SSH; the mirror here is brought up to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook import app, audit, bundle, opening, ssh
from runbook.audit.mirroring import Mirrored, read_chain
from runbook.events import Run
from runbook.work import utc_now

if TYPE_CHECKING:
    from runbook.audit.chain import Head
    from runbook.auditing.asked import Asked
    from runbook.model import Host
    from runbook.ssh import Wire
    from runbook.view import View


@dataclass(frozen=True, slots=True)
class Fetched:
    """The host's chain in bytes, the heads its journal has (`silent` says why there are none), and how copying went."""

    chain: bytes
    heads: tuple[Head, ...]
    silent: str
    mirrored: Mirrored


def fetch(asked: Asked, name: str, told: Run, view: View) -> Fetched:
    """Connect to a host, read its audit, bring the mirror up to it. Raises `runbook.errors`, OSError."""
    host = opening.load_host(asked.request, name, say=told.note)
    ask = view.secret if view.interactive else None
    with told.step(f"connect {host.ssh.address}"):
        link = ssh.connect(host.ssh, accept_new=asked.request.accept_new, ask=ask)
    with (
        link,
        link.open_wire(
            "reading",
            python=host.python,
            become=host.become,
            scope=host.scope,
            payload=bundle.helper_payload,
            state=host.state,
        ) as wire,
        told.step("read the audit") as step,
    ):
        found = read(wire, host, asked)
        step.detail = f"{len(found.chain)} bytes, {len(found.heads)} heads in the journal"
    return found


def read(wire: Wire, host: Host, asked: Asked) -> Fetched:
    """The same, over a wire."""
    # Before the chain: a record that another run appends meanwhile is one more, and not one that was cut off.
    told = wire.call("audit_heads", state=host.state)
    chain = read_chain(wire, host.state)
    heads = tuple((int(seq), str(hash_)) for seq, hash_ in told["heads"])
    mirrored = audit.mirror(wire, host, asked.mirrors, utc_now())
    return Fetched(chain, heads, str(told["detail"]), mirrored)


def fetch_asked(asked: Asked) -> None:
    """Copy the named hosts' new records where `--fetch` says so; what was set aside is told."""
    view = app.view_of(asked.request)
    for name in asked.request.hosts if asked.fetch else ():
        note = fetch(asked, name, Run(), view).mirrored.note
        if note:
            view.say(f"{name}: {note}")
