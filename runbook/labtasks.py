"""The lab's own switch: up, down, and whether it runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from runbook import app, audit
from runbook.errors import RunbookError
from runbook.request import LAB, Request
from runbook.story import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runbook.lab.state import LabState

NOT_UP = 3  # as `systemctl is-active` has it


def up(directory: Path, *, reset: bool, json: bool = False) -> int:
    """Start the lab; with `reset` lay the state before the fix again."""
    from runbook import lab

    request = Request("lab.up", json=json)
    view = app.view_of(request)
    try:
        state = lab.up(directory / ".lab", say=view.say, reset=reset)
    except RunbookError as error:
        return app.refuse(request, error)
    if reset:  # its chain begins anew, and nobody's history was lost
        audit.forget(audit.directory(directory), LAB)
    view.say(_told(state))
    tell(request, 0, lab=_shown(state))
    return 0


def down(directory: Path, *, json: bool = False) -> int:
    """Stop the lab and everything it started."""
    from runbook import lab

    request = Request("lab.down", json=json)
    try:
        stopped = lab.down(directory / ".lab")
    except RunbookError as error:
        return app.refuse(request, error)
    app.view_of(request).say("the lab is down" if stopped else "the lab was not up")
    tell(request, 0)
    return 0


def status(directory: Path, *, json: bool = False, real: Mapping[str, Any] | None = None) -> int:
    """Say whether the lab runs, and where the real host is if one stands; exit 3 when the lab does not run."""
    from runbook import lab

    request = Request("lab.status", json=json)
    view = app.view_of(request)
    state = lab.status(directory / ".lab")
    view.say(f"{_told(state)}, pid {state.pid}" if state else "the lab is not up")
    if real:
        view.say(f"the real host is up: --host real\n  {real['ssh']}")
    code = 0 if state else NOT_UP
    tell(request, code, lab=_shown(state) if state else None, real=real)
    return code


def tell(
    request: Request,
    code: int,
    *,
    lab: Mapping[str, Any] | None = None,
    real: Mapping[str, Any] | None = None,
) -> None:
    """Print the document of a lab task where one is asked for: what stands, null for what does not."""
    if request.json:
        document = {
            "schema": SCHEMA,
            "action": request.action,
            "outcome": "pass" if code == 0 else "inconclusive",
            "exit_code": code,
            "lab": lab,
            "real": real,
            "error": None,
        }
        print(json.dumps(document))  # noqa: T201


def _told(state: LabState) -> str:
    chat = f"http://127.0.0.1:{state.ports['router']}"
    return f"the lab is up: SSH on 127.0.0.1:{state.ssh_port}, chat on {chat}"


def _shown(state: LabState) -> dict[str, Any]:
    return {
        "root": str(state.root),
        "ssh_port": state.ssh_port,
        "user": state.user,
        "ports": dict(state.ports),
        "pid": state.pid,
    }
