"""The launch: which command of a script starts the server, through which wrappers, and with what environment of its own."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from runbook.edits.shell.commands import past_builtin
from runbook.edits.shell.programs import (
    ELSEWHERE,
    SHELLS,
    argv_of,
    head,
    is_exec,
    is_tool,
    may_serve,
    name_of,
)
from runbook.edits.shell.traversal import BACKGROUND, FUNCTION, SUBSHELL
from runbook.edits.shell.wrappers import Wrapping, unwrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.edits.shell.sites import Site
    from runbook.edits.shell.statements import Command, Statement
    from runbook.edits.shell.words import Word

_PREPARING = frozenset({".", "cd", "echo", "mkdir", "pushd", "set", "source", "ulimit", "umask"})
# What they are given to run is text for a shell too
_TELLING = SHELLS | {"script", "su", "runuser"}
_SETS = re.compile(r"(?:^|[\s;&|(\"'])(?:\.|source|eval|set|read|env -|exec -)\s")
_ASSIGNS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_SHALLOW = frozenset({"", BACKGROUND, "&&", "||", "a pipeline", "time"})


class Launch(NamedTuple):
    """The launching command.

    `at` is the index of the statement it stands in; `words` are all of its words, `argv` those after wrappers and
    assignments. Both are empty when the command is nested too deep to say. `sites` are its own prefix and env assignments
    in order; `cleared` says that what the script exported does not pass (`env -i`, `exec -c`, sudo); `dropped` are names
    given to `env -u`; `room` is the offset after env's last own word, where another assignment fits;
    `told` is the text given to `bash -c`. `rivals` are earlier launches, which may run instead or too, some of
    `another` program.
    """

    at: int
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
    rivals: tuple[Launch, ...] = ()
    in_function: bool = False
    another: bool = False

    @property
    def first(self) -> int:
        """The index of the statement before which everything must stand that concerns every server."""
        return min((rival.at for rival in self.rivals if not rival.beside), default=self.at)

    @property
    def beside(self) -> bool:
        """Whether this is another program in the background, which concerns only the names it is given for itself."""
        return self.another and not self.where


def find(statements: Sequence[Statement]) -> Launch | None:
    """The launch of a script: the first `exec COMMAND` that is always reached, else the last command that is no everyday tool."""
    found = _found(statements)
    return found and found._replace(rivals=tuple(_rivals(statements, found)))


def _rivals(statements: Sequence[Statement], found: Launch) -> Iterator[Launch]:
    """Commands before the launch that start a server too, in the background or by an exec under a condition."""
    for index, statement in enumerate(statements[: found.at]):
        for command in statement.commands:
            same = head(argv_of(command)) == head(found.argv)
            beside = command.where == BACKGROUND and not is_tool(command)
            if beside or (_is_conditional(command) and (same or may_serve(argv_of(command)))):
                yield _read(statements, index, command)._replace(another=not same)


def _is_conditional(command: Command) -> bool:
    return is_exec(command) and bool(command.where) and not command.where.startswith((FUNCTION, SUBSHELL))


def _found(statements: Sequence[Statement]) -> Launch | None:
    leaves = (index for index, statement in enumerate(statements) if _is_exit(statement))
    statements = statements[: next(leaves, len(statements))]  # nothing behind a plain exit is ever reached
    for index, statement in enumerate(statements):
        for command in _execs(statement.commands):
            if _is_certain(statement, command):
                return _read(statements, index, command)
    for index in range(len(statements) - 1, -1, -1):
        commands = [c for c in statements[index].commands if not c.where.startswith(FUNCTION)]
        launching = [*_execs(commands), *(command for command in commands if not is_tool(command))]
        if launching:
            return _read(statements, index, launching[0])
    return None


def _execs(commands: Sequence[Command]) -> list[Command]:
    return [command for command in commands if command.where in _SHALLOW and is_exec(command)]


def _is_exit(statement: Statement) -> bool:
    if statement.first not in ("exit", "builtin", "command"):
        return False
    words = statement.commands[0].words
    return words[past_builtin(words)].text == "exit"


def _is_certain(statement: Statement, command: Command) -> bool:
    """Whether an exec is always reached: alone, or behind what only prepares it, as in `cd /srv && exec …`."""
    if command.where not in ("&&", "||"):
        return True
    before = statement.commands[: statement.commands.index(command)]
    return bool(before) and all(each.words[0].text in _PREPARING for each in before)


def _read(statements: Sequence[Statement], index: int, command: Command) -> Launch:
    # a plain command sent to the background still gets the shell's environment, and its own
    words, where = command.words, "" if command.where == BACKGROUND else command.where
    if where not in _SHALLOW:
        return _nested(statements[index], index, command)
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
        cleared=reading.cleared or _kept_back(argv),
        dropped=frozenset(reading.dropped),
        room=reading.room,
        unclear=reading.unclear or unclear or _unclear(argv),
        told=_told(argv),
        in_function=calls,
    )


def _nested(statement: Statement, index: int, command: Command) -> Launch:
    """A launch under a construct: which of the commands there it is, nobody can say."""
    inner = [each for each in statement.commands if not each.where.startswith(FUNCTION)]
    sites, unclear = _inside(inner)
    in_function, line = command.where.startswith(FUNCTION), command.words[0].line
    return Launch(index, line, where=command.where, sites=sites, unclear=unclear, in_function=in_function)


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


def _kept_back(argv: Sequence[Word]) -> str:
    program = name_of(argv)
    return f"{program}, which hands no environment on" if program in ELSEWHERE else ""


def _unclear(argv: Sequence[Word]) -> str:
    """Which words may set anything: another script, another shell's text, an env that a wrapper we do not know runs."""
    program, told = name_of(argv), _told(argv)
    if program in SHELLS - {"eval"} and not told:
        return f"the script that {program} runs"
    if program.endswith((".sh", ".bash")):
        return f"{program}, a script too,"
    if _SETS.search(told):
        return f"the text given to {program}"
    pairs = itertools.pairwise(word.raw for word in argv[1:])
    hidden = next((a for a, b in pairs if a.rpartition("/")[2] == "env" and _ASSIGNS.match(b)), "")
    return hidden or (argv[0].raw if argv and argv[0].raw.startswith("-") else "")


def _told(argv: Sequence[Word]) -> str:
    """The text given to `bash -c` and its kind, which may set anything."""
    program = name_of(argv)
    given = program == "eval" or any(re.match(r"-[A-Za-z]*c", word.raw) for word in argv[1:])
    return " ".join(word.raw for word in argv[1:]) if program in _TELLING and given else ""
