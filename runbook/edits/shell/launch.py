"""The launch: which command of a script starts the server, through which wrappers, and with what environment of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.edits.shell.traversal import BACKGROUND, FUNCTION
from runbook.edits.shell.wrappers import Wrapping, unwrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.edits.shell.sites import Site
    from runbook.edits.shell.statements import Command, Statement
    from runbook.edits.shell.words import Word

# Commands that prepare or follow a launch; anything else may be the launch itself.
_TOOL_NAMES = """
    . : [ alias bg break builtin cd continue declare dirs disown echo enable eval exit export false fg
    getopts hash help history jobs kill let local logger mapfile popd printf pushd pwd read readarray
    readonly return set shift shopt sleep source test times trap true type typeset ulimit umask unalias
    unset wait awk basename cat chmod chown cp cut date df dirname docker du find free getconf git grep
    head hostname id ip ldconfig ln ls lscpu lspci mkdir modprobe mount mountpoint mv nproc nvidia-smi
    pip pkill rm rmdir rsync sed seq sort stat sync sysctl systemctl systemd-notify tail tee touch tr
    uname which xargs curl wget module ss lsof fuser stty tput
"""
_TOOLS = frozenset(_TOOL_NAMES.split())
_SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh", "eval"})
_SHALLOW = frozenset({"", BACKGROUND, "&&", "||", "a pipeline", "time"})


@dataclass(frozen=True, slots=True)
class Launch:
    """The launching command.

    `index` is the statement it stands in; `words` are all of its words, `argv` those after wrappers and assignments.
    Both are empty when the command is nested too deep to say. `sites` are its own prefix and env assignments in
    order; `cleared` says that what the script exported does not pass (`env -i`, `exec -c`, sudo); `dropped` are names
    given to `env -u`; `room` is the offset after env's last own word, where another assignment fits;
    `told` is the text given to `bash -c`.
    """

    index: int
    line: int
    where: str = ""
    words: tuple[Word, ...] = ()
    argv: tuple[Word, ...] = ()
    sites: tuple[Site, ...] = ()
    cleared: str = ""
    dropped: frozenset[str] = frozenset()
    room: int | None = None
    unclear: str = ""
    told: str = ""


def find(statements: Sequence[Statement]) -> Launch | None:
    """The launch of a script: the first plain `exec COMMAND`, else the last command that is no everyday tool."""
    for index, statement in enumerate(statements):
        for command in statement.commands:
            if command.where in _SHALLOW and command.words[0].text == "exec" and len(command.words) > 1:
                return _read(statements, index, command)
    for index in range(len(statements) - 1, -1, -1):
        commands = [c for c in statements[index].commands if not c.where.startswith(FUNCTION)]
        launching = [command for command in commands if not _is_tool(command)]
        if launching:
            return _read(statements, index, launching[0])
    return None


def _is_tool(command: Command) -> bool:
    text = command.words[0].text
    redirects = text == "exec" and len(command.words) == 1
    return text is not None and (redirects or text.rpartition("/")[2] in _TOOLS)


def _read(statements: Sequence[Statement], index: int, command: Command) -> Launch:
    # a plain command sent to the background still gets the shell's environment, and its own
    words, where = command.words, "" if command.where == BACKGROUND else command.where
    if where not in _SHALLOW:
        inner = [c for c in statements[index].commands if not c.where.startswith(FUNCTION)]
        sites, unclear = _inside(inner)
        return Launch(index, words[0].line, where=where, sites=sites, unclear=unclear)
    reading = Wrapping(sites=list(command.prefix))
    argv = words[unwrap(words, reading) :]
    called = argv[0].text if argv else None
    inner = [c for statement in statements for c in statement.commands if c.where.startswith(FUNCTION)]
    calls = any(called in statement.functions for statement in statements)
    inner = [
        *(inner if calls else ()),
        *(c for c in statements[index].commands if c is not command and c.where),
    ]
    sites, unclear = _inside(inner)
    return Launch(
        index,
        words[0].line,
        where=where,
        words=words,
        argv=argv,
        sites=tuple(site.under(where) if where else site for site in reading.sites) + sites,
        cleared=reading.cleared,
        dropped=frozenset(reading.dropped),
        room=reading.room,
        unclear=reading.unclear or unclear,
        told=_told(argv),
    )


def _inside(commands: Sequence[Command]) -> tuple[tuple[Site, ...], str]:
    """What commands in a construct put into their own environments, and what keeps us from telling."""
    sites: list[Site] = []
    unclear = ""
    for command in commands:
        reading = Wrapping(sites=list(command.prefix))
        unwrap(command.words, reading)
        sites += [site.under(command.where) for site in reading.sites]
        if reading.cleared or reading.dropped or reading.unclear:
            unclear = f"{command.words[0].raw} under {command.where}"
    return tuple(sites), unclear


def _told(argv: Sequence[Word]) -> str:
    """The text given to `bash -c` and its kind, which may set anything."""
    shell = bool(argv) and (argv[0].text or "").rpartition("/")[2] in _SHELLS
    given = any(re.match(r"-[A-Za-z]*c", word.raw) for word in argv[1:])
    return " ".join(word.raw for word in argv[1:]) if shell and given else ""
