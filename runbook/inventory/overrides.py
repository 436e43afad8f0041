"""`--set` and `--unset` laid over the flags a host file declares."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runbook.errors import UsageError
from runbook.model import Flag
from runbook.onhost.masking import mask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.model import Host

WHY = "--set on the command line"


def overridden(host: Host, settings: Mapping[str, str | None]) -> Host:
    """The host with other wanted values; None wants the flag absent.

    A declared flag keeps its units, owner and dates; a new one goes to every unit with a script. Raises UsageError
    for what is no variable name, a value of more than one line, and a host without scripts.
    """
    declared = {flag.name: flag for flag in host.flags}
    changed = {name: _flag(host, declared.get(name), name, value) for name, value in settings.items()}
    return host._replace(flags=tuple({**declared, **changed}.values()))


def overriding(host: Host, settings: Mapping[str, str | None]) -> dict[str, str | None]:
    """Those of the settings that say something else than the host's file; secrets are masked."""
    declared = {flag.name: flag.value for flag in host.flags}
    return {
        name: value and mask(name, value)
        for name, value in settings.items()
        if name not in declared or declared[name] != value
    }


def undeclared(host: Host, settings: Mapping[str, str | None]) -> list[str]:
    """Those of the settings that the host's file does not name."""
    return sorted(settings.keys() - {flag.name for flag in host.flags})


def _flag(host: Host, declared: Flag | None, name: str, value: str | None) -> Flag:
    if name.startswith("-"):
        raise UsageError(
            f"--set {name}: a launch argument is one unit's; declare it in {host.source} under units.<role>.args"
        )
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise UsageError(
            f"--set {name!r}: should be NAME=VALUE with a variable name of letters, digits and _"
        )
    if value is not None and re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value):
        raise UsageError(
            f"--set {name}: the value should be one line without control characters, found {value!r}"
        )
    if declared is not None:
        return declared._replace(value=value, why=WHY)
    units = tuple(unit.role for unit in host.units if unit.script)
    if not units:
        raise UsageError(f"--set {name}: no unit of {host.name} has a script to set it in")
    return Flag(name, value, WHY, units)
