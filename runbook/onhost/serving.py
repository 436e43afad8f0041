"""Which service units of this machine serve a model: for a host that nobody has described yet."""

from __future__ import annotations

import os
import re

from runbook.onhost import command, files
from runbook.onhost import units as systemd
from runbook.onhost.calls import Refusal, reading
from runbook.onhost.scope import systemctl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from runbook.onhost.session import Session

LIMIT_UNITS = 2000
_SCRIPT_BYTES = 256 * 1024
_SERVICE = re.compile(r"(?:^|\s)([A-Za-z0-9:_.\\@][A-Za-z0-9:_.\\@-]*\.service)(?=\s|$)")
_SHELL = re.compile(rb"#!\s*\S*(?:/env[ \t]+(?:-S[ \t]*)?)?\S*?(?:ba|da|k|z|a)?sh(?:\s|$)")


@reading
def serving(session: Session, units: list[str], words: list[str]) -> dict[str, dict[str, Any]]:
    """The units named, else every service whose command or script says one of the words: unit → properties, script."""
    found: dict[str, dict[str, Any]] = {}
    for unit, properties in systemd.show(units or _services(session.scope), session.scope).items():
        if units and properties.get("LoadState") == "not-found":
            raise Refusal("missing", f"no unit {unit} on this host", {"unit": unit})
        path, content = _script(properties.get("ExecStart", ""))
        if units or _says(words, properties.get("ExecStart", ""), content):
            found[unit] = {"properties": properties, "script": path}
    return found


def _services(scope: str) -> list[str]:
    text = command.run(systemctl(scope, "list-units", "--all", "--full", "--no-legend", "--no-pager"))
    names = (match[1] for line in text.splitlines() if (match := _SERVICE.search(line)))
    return list(dict.fromkeys(names))[:LIMIT_UNITS]


def _says(words: list[str], started: str, script: bytes) -> bool:
    text = started.lower() + "\n" + script.decode("utf-8", "replace").lower()
    return any(word.lower() in text for word in words)


def _script(started: str) -> tuple[str | None, bytes]:
    """The shell script an ExecStart runs, itself or as a shell's argument; None where it runs something else. One that we may
    not read is known by its ending alone."""
    for path in _paths(started):
        try:
            content = files.content_of(path, _SCRIPT_BYTES)
        except PermissionError:
            content = b""
        except (OSError, Refusal):
            continue
        if _SHELL.match(content) or path.endswith(".sh"):
            return path, content
    return None, b""


def _paths(started: str) -> Iterator[str]:
    """Absolute paths of `{ path=/x ; argv[]=/x /y ; … }`, as systemctl shows a command."""
    shown = re.match(r"\{ path=(.*?) ; argv\[\]=(.*?) ; ignore_errors=", started)
    if shown:
        yield from (path for path in dict.fromkeys((shown[1], *shown[2].split())) if os.path.isabs(path))
