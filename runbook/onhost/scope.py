"""Whose units these are: the machine's, or those of the user we are logged in as (`systemctl --user`)."""

from __future__ import annotations

import os

from runbook.onhost.calls import Refusal

SCOPES = ("system", "user")


def checked(scope: str) -> str:
    """The scope itself; Refusal where it is none."""
    if scope not in SCOPES:
        raise Refusal("invalid", f"no scope named {scope!r}")
    return scope


def systemctl(scope: str, verb: str, *words: str) -> list[str]:
    """The command line of systemctl for a scope."""
    return ["systemctl", verb, *(["--user"] if scope == "user" else []), *words]


def journal_unit(scope: str, unit: str) -> str:
    """journalctl's option for a unit of a scope."""
    return f"--user-unit={unit}" if scope == "user" else f"--unit={unit}"


def find_manager(scope: str) -> None:
    """Let systemctl find the user's manager: a login without pam_systemd does not say where it listens."""
    if scope == "user":
        os.environ.setdefault("XDG_RUNTIME_DIR", f"/run/user/{os.geteuid()}")
