"""A task's arguments as a Request, or a refusal that says what to type instead."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook import app, fleet
from runbook.errors import UsageError
from runbook.options import Options
from runbook.request import Request

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
    if hosts := fleet.names(asked):
        return fleet.status(asked, hosts)
    if not (asked.file or asked.url or asked.replay or action in OFFLINE):
        return app.run(asked)
    from runbook import offline  # a rollout of a host does without

    return offline.run(asked)


def request(action: str, *, dry: bool = False, **given: Any) -> Request:
    """The Request of a task's keyword arguments; `dry` is Invoke's own --dry. Raises UsageError."""
    if action == "validate":
        _one_target(given)
    if action == "restart" and not given.get("unit"):
        raise UsageError("restart wants --unit, a role or a unit's name (repeat for several)")
    sizes, kept = _bench(given) if action == "bench" else (SIZES, {})
    load_options = _load_options(given, sizes)
    return Request(
        action=action,
        hosts=_hosts(given.get("host") or ()),
        options=Options(
            dry_run=dry or given.get("dry_run", False),
            skip_validation=given.get("skip_validation", False),
            load=True if given.get("load") else None,
            to=given.get("to") or None,
            force=given.get("force", False),
            names=tuple(given.get("name") or ()),
            load_options=load_options,
            against=kept.get("against"),
            baseline=kept.get("baseline"),
            units=tuple(given.get("unit") or ()),
            lines=_lines(given.get("lines", 200)),
            since=_since(given.get("since") or ""),
            grep=_pattern(given.get("grep") or ""),
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
        url=given.get("url") or None,
        replay=given.get("replay") or None,
        load_options=load_options,
        save=kept.get("save"),
        output=kept.get("output"),
    )


def _bench(given: Mapping[str, Any]) -> tuple[Sequence[str], Mapping[str, Any]]:
    """The options of a bench that go to the load generator, and what it is compared with and kept as."""
    from runbook import benchrequest  # only a bench pays for it

    benchrequest.check(given)
    return benchrequest.SIZES, benchrequest.targets(Path.cwd(), given)


def _since(text: str) -> float | None:
    if not text:
        return None
    from runbook import since  # few ask for a moment

    return since.moment(text, datetime.datetime.now(datetime.UTC)).timestamp()


def _lines(count: int) -> int:
    if count < 1:
        raise UsageError(f"--lines wants a number from 1, found {count}")
    return count


def _pattern(text: str) -> str | None:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"--grep {text!r} is no regular expression: {error}") from error
    return text or None


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
        if not name or not (equals or name.startswith("-")):
            raise UsageError(f"--set wants NAME=VALUE, found {assignment!r}")
        if name.startswith("-") and equals and not value:
            raise UsageError(
                f"--set gives {name} no value; write --set={name} for an option that stands alone"
            )
        if settings.setdefault(name, value) != value:
            raise UsageError(f"--set gives {name} two values")
    for name in absent:
        if name in settings:
            raise UsageError(f"{name} is both --set and --unset")
        settings[name] = None
    return settings


# What `validate --url` says of its run: these by name, all others as --option NAME=VALUE.
SIZES = (
    "model",
    "sessions",
    "rounds",
    "ctx",
    "max_tokens",
    "timeout",
    "tag",
    "control",
    "api_key_env",
    "streams",
)


def _one_target(given: Mapping[str, Any]) -> None:
    """validate loads a host, or a URL, or nobody: raises UsageError for what says two of them."""
    targets = [f"--{name}" for name in ("host", "url", "replay") if given.get(name)]
    if len(targets) > 1:
        raise UsageError(f"{' and '.join(targets)} contradict each other: one of them")
    if given.get("name") and targets not in ([], ["--host"]):
        raise UsageError(f"--name is of a host's validations, and {targets[0]} has none")
    sizes = [f"--{name.replace('_', '-')}" for name in (*SIZES, "option") if given.get(name)]
    if sizes and targets != ["--url"]:
        raise UsageError(f"{sizes[0]} goes with --url: the validations of a host stand in its file")


def _load_options(given: Mapping[str, Any], sizes: Sequence[str]) -> Mapping[str, str]:
    """Options of the load generator by their names there."""
    options = {name.replace("_", "-"): str(given[name]) for name in sizes if given.get(name)}
    for assignment in given.get("option") or ():
        spelt, equals, value = assignment.partition("=")
        name = spelt.replace("_", "-")  # a host file spells them so
        if not name or name in options:
            raise UsageError(f"--option wants NAME=VALUE, each name once, found {assignment!r}")
        options[name] = value if equals else "true"
    return options
