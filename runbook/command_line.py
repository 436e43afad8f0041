"""A task's arguments as a Request, or a refusal that says what to type instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook import app
from runbook.app import Request
from runbook.errors import UsageError
from runbook.options import Options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# Actions that are no rollout of a host that has a file.
OFFLINE = ("hosts.adopt", "hosts.check", "hosts.list")


def run(action: str, *, dry: bool = False, **given: Any) -> int:
    """Run one action as the command line asks for it; returns the exit code."""
    try:
        asked = request(action, dry=dry, **given)
    except UsageError as error:
        return app.refuse(Request(action, json=given.get("json", False)), error)
    if asked.file is None and action not in OFFLINE:
        return app.run(asked)
    from runbook import offline

    return offline.run(asked)


def request(action: str, *, dry: bool = False, **given: Any) -> Request:
    """The Request of a task's keyword arguments; `dry` is Invoke's own --dry. Raises UsageError."""
    return Request(
        action=action,
        hosts=_hosts(given.get("host") or ()),
        options=Options(
            dry_run=dry or given.get("dry_run", False),
            skip_validation=given.get("skip_validation", False),
            load=True if given.get("load") else None,
            to=given.get("to") or None,
            force=given.get("force", False),
        ),
        settings=_settings(given.get("set_") or (), given.get("unset") or ()),
        yes=given.get("yes", False),
        json=given.get("json", False),
        verbose=given.get("verbose", False),
        accept_new=given.get("accept_new", False),
        reason=given.get("reason", ""),
        file=given.get("file") or None,
        address=given.get("address") or None,
        units=tuple(given.get("unit") or ()),
    )


def _hosts(names: Sequence[str]) -> tuple[str, ...]:
    """Host names as given; Invoke takes `--host --yes` for a host named --yes."""
    for name in names:
        if not name or name.startswith("-"):
            raise UsageError(f"--host needs a name, found {name!r}")
    return tuple(dict.fromkeys(names))


def _settings(wanted: Sequence[str], absent: Sequence[str]) -> Mapping[str, str | None]:
    settings: dict[str, str | None] = {}
    for assignment in wanted:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise UsageError(f"--set wants NAME=VALUE, found {assignment!r}")
        settings[name] = value
    for name in absent:
        if name in settings:
            raise UsageError(f"{name} is both --set and --unset")
        settings[name] = None
    return settings
