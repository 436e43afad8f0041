"""Programs: what a command runs once its wrappers are read past, and whether that may be a server."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from runbook.edits.shell.commands import past_builtin
from runbook.edits.shell.wrappers import Wrapping, unwrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.edits.shell.statements import Command
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
SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh", "eval"})
# What they start has an environment of its own
ELSEWHERE = frozenset({"docker", "podman", "nerdctl", "kubectl", "ssh", "systemd-run", "su", "runuser"})


def argv_of(command: Command) -> tuple[Word, ...]:
    """The words of the program itself, behind `exec`, `env` and other wrappers."""
    return command.words[unwrap(command.words, Wrapping()) :]


def may_serve(argv: Sequence[Word]) -> bool:
    """Whether a command starts a program that may be a server: no shell, tool, or something only a run can tell."""
    program = name_of(argv)
    return bool(program) and program not in _TOOLS | SHELLS | ELSEWHERE


def head(argv: Sequence[Word]) -> tuple[str, ...]:
    """The words that say which program it is: all before the first long option."""
    return tuple(word.raw for word in itertools.takewhile(lambda word: not word.raw.startswith("--"), argv))


def is_exec(command: Command) -> bool:
    """Whether a command replaces the shell by another program."""
    words = command.words[past_builtin(command.words) :]
    return words[0].text == "exec" and len(words) > 1


def is_tool(command: Command) -> bool:
    """Whether a command only prepares or follows a launch; xargs may start one."""
    redirects = command.words[0].text == "exec" and len(command.words) == 1
    name = name_of(command.words)
    return redirects or (name in _TOOLS and not (name == "xargs" and may_serve(argv_of(command))))


def name_of(argv: Sequence[Word]) -> str:
    """The program's name without its folder; nothing where only a run can tell."""
    return (argv[0].text or "").rpartition("/")[2] if argv else ""
