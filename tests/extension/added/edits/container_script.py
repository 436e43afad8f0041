"""Podman's .container units: the variables that `Environment=NAME=VALUE` lines of [Container] give the server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runbook.edits.serve_script import NOTHING, Assignment, ScriptEnvironment
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

SECTION = "[Container]"
_LINE = re.compile(r"Environment=([A-Za-z_]\w*)=(.*)")


def read(text: str) -> ScriptEnvironment:
    """What the container is given; a later line wins."""
    found = [
        Assignment(match[1], number, match[0], match[2], SECTION)
        for number, line in enumerate(text.split("\n"), 1)
        if (match := _LINE.fullmatch(line))
    ]
    return ScriptEnvironment({each.name: each.value for each in found}, tuple(found))


def edit(text: str, *, set: Mapping[str, str] = NOTHING, unset: Collection[str] = ()) -> str:
    """The unit with each name of `set` given its value once and those of `unset` gone. Raises EditRefusedError."""
    given = read(text).values
    wrong = {name for name, value in set.items() if given.get(name) != value} | (given.keys() & {*unset})
    if not wrong:
        return text
    lines = [
        line for line in text.split("\n") if not ((match := _LINE.fullmatch(line)) and match[1] in wrong)
    ]
    if SECTION not in lines:
        raise EditRefusedError(f"there is no {SECTION} section to set a variable in", line=1)
    at = lines.index(SECTION) + 1
    lines[at:at] = [f"Environment={name}={value}" for name, value in set.items() if name in wrong]
    return "\n".join(lines)
