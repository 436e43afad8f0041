"""Serve scripts for fish: the variables that top-level lines `set -gx NAME VALUE` give the server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runbook.edits.serve_script import NOTHING, Assignment, ScriptEnvironment
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_SET = re.compile(r"set -gx ([A-Za-z_]\w*) ([\w./:,@%+=-]*)")
_MENTIONS_SETTING = re.compile(r"\b(?:set|export|env|eval|source)\b")


def read(text: str) -> ScriptEnvironment:
    """What the server is given: a later line wins, and any other line that may set variables leaves all undecided."""
    found, doubts = [], {}
    for number, line in enumerate(text.split("\n"), 1):
        if match := _SET.fullmatch(line):
            found.append(Assignment(match[1], number, match[2]))
        elif _MENTIONS_SETTING.search(line.partition("#")[0]):
            doubts["*"] = f"line {number}: only a run can tell what it sets"
    return ScriptEnvironment({each.name: each.value for each in found}, tuple(found), unreadable=doubts)


def edit(text: str, *, set: Mapping[str, str] = NOTHING, unset: Collection[str] = ()) -> str:
    """The script with each name of `set` given its value once and those of `unset` gone. Raises EditRefusedError."""
    found = read(text)
    wrong = {name for name, value in set.items() if found.values.get(name) != value}
    wrong |= found.values.keys() & {*unset}
    if not wrong:
        return text
    if found.unreadable:
        raise EditRefusedError(found.unreadable["*"])
    lines = [line for line in text.split("\n") if not ((match := _SET.fullmatch(line)) and match[1] in wrong)]
    at = 1 if lines[0].startswith("#!") else 0
    lines[at:at] = [_line(name, value) for name, value in set.items() if name in wrong]
    return "\n".join(lines)


def _line(name: str, value: str) -> str:
    line = f"set -gx {name} {value}"
    if not _SET.fullmatch(line):
        raise EditRefusedError(f"the value of {name} needs quotes, which this edit does not write")
    return line
