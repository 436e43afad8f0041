"""Whose units these are: the machine's, or those of the user we are logged in as (`systemctl --user`)."""

from __future__ import annotations

import os

from runbook.onhost.calls import Refusal

SCOPES = ("system", "user")
_HELP = "`loginctl enable-linger` as that user keeps it running without a login"


def checked(scope: str) -> str:
    """The scope itself; Refusal where it is none."""
    if scope not in SCOPES:
        raise Refusal("invalid", f"no scope named {scope!r}")
    return scope


def systemctl(scope: str, verb: str, *words: str) -> list[str]:
    """The command line of systemctl for a scope."""
    return ["systemctl", verb, *(["--user"] if scope == "user" else []), *words]


def journal_of(scope: str, unit: str, pid: int = 0) -> list[str]:
    """journalctl's words for the lines of a unit; `pid` is that of its last main process.

    A user's process that ends before journald has looked it up leaves lines that name no unit: 29 of 150 starts that
    failed at once. Its PID stands in them all the same.
    """
    if scope != "user":
        return [f"--unit={unit}"]
    ours = f"_UID={os.geteuid()}"
    fields = ("_SYSTEMD_USER_UNIT", "USER_UNIT", "COREDUMP_USER_UNIT", "OBJECT_SYSTEMD_USER_UNIT")
    matches = [f"{field}={unit}" for field in fields] + ([f"_PID={pid}"] if pid else [])
    return " + ".join(f"{ours} {match}" for match in matches).split(" ")


def find_manager(scope: str) -> None:
    """Let systemctl find the user's manager: a login without pam_systemd does not say where it listens.

    Refusal `missing` where none runs, which systemctl would call "No medium found".
    """
    if scope != "user":
        return
    runtime = os.environ.setdefault("XDG_RUNTIME_DIR", f"/run/user/{os.geteuid()}")
    sockets = [os.path.join(runtime, name) for name in ("systemd/private", "bus")]
    if "DBUS_SESSION_BUS_ADDRESS" not in os.environ and not any(map(os.path.exists, sockets)):
        raise Refusal(
            "missing", f"no systemd of uid {os.geteuid()} runs on this host ({_HELP})", {"path": sockets[0]}
        )
