"""The launch: which command of a script starts the server, through which wrappers, and with what environment of its own."""

from __future__ import annotations

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
_SHALLOW = frozenset({"", BACKGROUND, "&&", "||", "a pipeline", "time"})


@dataclass(frozen=True, slots=True)
class Launch:
    """The launching command.

    `index` is the statement it stands in; `words` are all of its words, `argv` those after wrappers and assignments.
    Both are empty when the command is nested too deep to say. `sites` are its own prefix and env assignments in
    order; `cleared` says that what the script exported does not pass (`env -i`, `exec -c`, sudo); `dropped` are names
    given to `env -u`; `room` is the offset after env's last own word, where another assignment fits.
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


def find(statements: Sequence[Statement]) -> Launch | None:
    """The launch of a script: the first plain `exec COMMAND`, else the last command that is no everyday tool."""
    for index, statement in enumerate(statements):
        for command in statement.commands:
            if command.where in _SHALLOW and command.words[0].text == "exec" and len(command.words) > 1:
                return _read(index, command)
    for index in range(len(statements) - 1, -1, -1):
        commands = [c for c in statements[index].commands if not c.where.startswith(FUNCTION)]
        launching = [command for command in commands if not _is_tool(command)]
        if launching:
            return _read(index, launching[0])
    return None


def _is_tool(command: Command) -> bool:
    text = command.words[0].text
    redirects = text == "exec" and len(command.words) == 1
    return text is not None and (redirects or text.rpartition("/")[2] in _TOOLS)


def _read(index: int, command: Command) -> Launch:
    # a plain command sent to the background still gets the shell's environment, and its own
    words, where = command.words, "" if command.where == BACKGROUND else command.where
    if where not in _SHALLOW:
        return Launch(index, words[0].line, where=where)
    reading = Wrapping(sites=list(command.prefix))
    at = unwrap(words, reading)
    return Launch(
        index,
        words[0].line,
        where=where,
        words=words,
        argv=words[at:],
        sites=tuple(site.under(where) if where else site for site in reading.sites),
        cleared=reading.cleared,
        dropped=frozenset(reading.dropped),
        room=reading.room,
        unclear=reading.unclear,
    )
