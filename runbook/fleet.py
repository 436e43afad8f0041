"""status without a host's name: every host there is a file for, one line each, whether it answers or not."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

from runbook import app, inventory
from runbook.request import LAB, Request

if TYPE_CHECKING:
    from typing import Any


def names(request: Request) -> tuple[str, ...]:
    """The hosts that `status` means when it names none; empty where it means one, which app finds by its own rules."""
    if request.action != "status" or request.hosts or os.environ.get("RUNBOOK_HOST"):
        return ()
    return tuple(name for name in inventory.known(request.hosts_dir) if name != LAB)


def status(request: Request, hosts: tuple[str, ...]) -> int:
    """Ask one after the other, all of them; returns the exit code of the worst (README, exit codes)."""
    from runbook import screens

    view = app.view_of(request)
    quiet = dataclasses.replace(view, silent=True)
    documents: list[dict[str, Any]] = []
    for name in hosts:
        documents.append(app.one(request, name, quiet))
        view.say("\n".join(screens.one_host(documents[-1], view.width)))
        if app.ends_the_row(request, documents[-1]):
            break
    app.finish(request, view, documents, hosts[len(documents) :])
    return app.exit_code([document["exit_code"] for document in documents])
