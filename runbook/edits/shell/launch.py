"""The launch: which command of a script starts the server, through which wrappers, and with what environment of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runbook.edits.shell.sites import Site
from runbook.edits.shell.traversal import BACKGROUND, FUNCTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.edits.shell.statements import Command, Statement
    from runbook.edits.shell.words import Word

# Commands that prepare or follow a launch; anything else may be the launch itself.
_TOOLS = frozenset(
    {
        ".",
        ":",
        "[",
        "alias",
        "bg",
        "break",
        "builtin",
        "cd",
        "continue",
        "declare",
        "dirs",
        "disown",
        "echo",
        "enable",
        "eval",
        "exit",
        "export",
        "false",
        "fg",
        "getopts",
        "hash",
        "help",
        "history",
        "jobs",
        "kill",
        "let",
        "local",
        "logger",
        "mapfile",
        "popd",
        "printf",
        "pushd",
        "pwd",
        "read",
        "readarray",
        "readonly",
        "return",
        "set",
        "shift",
        "shopt",
        "sleep",
        "source",
        "test",
        "times",
        "trap",
        "true",
        "type",
        "typeset",
        "ulimit",
        "umask",
        "unalias",
        "unset",
        "wait",
        "awk",
        "basename",
        "cat",
        "chmod",
        "chown",
        "cp",
        "cut",
        "date",
        "df",
        "dirname",
        "docker",
        "du",
        "find",
        "free",
        "getconf",
        "git",
        "grep",
        "head",
        "hostname",
        "id",
        "ip",
        "ldconfig",
        "ln",
        "ls",
        "lscpu",
        "lspci",
        "mkdir",
        "modprobe",
        "mount",
        "mountpoint",
        "mv",
        "nproc",
        "nvidia-smi",
        "pip",
        "pkill",
        "rm",
        "rmdir",
        "rsync",
        "sed",
        "seq",
        "sort",
        "stat",
        "sync",
        "sysctl",
        "systemctl",
        "systemd-notify",
        "tail",
        "tee",
        "touch",
        "tr",
        "uname",
        "which",
        "xargs",
        "curl",
        "wget",
        "module",
        "ss",
        "lsof",
        "fuser",
        "stty",
        "tput",
    }
)
_SHALLOW = frozenset({"", BACKGROUND, "&&", "||", "a pipeline", "time"})
# Wrapper → its options that take a word of their own, and how many plain words it takes before the command.
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "exec": (frozenset({"-a"}), 0),
    "command": (frozenset(), 0),
    "nohup": (frozenset(), 0),
    "setsid": (frozenset(), 0),
    "nice": (frozenset({"-n", "--adjustment"}), 0),
    "ionice": (frozenset({"-c", "-n", "-p", "--class", "--classdata"}), 0),
    "taskset": (frozenset(), 1),
    "chrt": (frozenset({"-T", "-P", "-D"}), 1),
    "numactl": (
        frozenset(
            {
                "-N",
                "-m",
                "-C",
                "-i",
                "-p",
                "--cpunodebind",
                "--membind",
                "--physcpubind",
                "--interleave",
                "--preferred",
            }
        ),
        0,
    ),
    "stdbuf": (frozenset({"-i", "-o", "-e", "--input", "--output", "--error"}), 0),
    "timeout": (frozenset({"-k", "-s", "--kill-after", "--signal"}), 1),
    "env": (frozenset({"-u", "--unset", "-C", "--chdir"}), 0),
    "sudo": (frozenset({"-u", "-g", "-p", "-C", "-D", "-R", "-T", "-h", "--user", "--group"}), 0),
}


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


@dataclass(slots=True)
class _Reading:
    """What has been read off the wrappers so far."""

    sites: list[Site] = field(default_factory=list)
    cleared: str = ""
    dropped: set[str] = field(default_factory=set)
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
    reading = _Reading(sites=list(command.prefix))
    at = _skip_wrappers(words, reading)
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


def _skip_wrappers(words: tuple[Word, ...], reading: _Reading) -> int:
    """Read past `exec`, `nohup`, `env …` and their kind; the position of the real command."""
    at = 0
    while at < len(words):
        name = (words[at].text or "").rpartition("/")[2]
        if name not in _WRAPPERS:
            break
        after = _skip_options(words, at, name, reading)
        if name == "env":
            after = _read_env(words, after, reading)
        elif name == "sudo" and not reading.cleared:
            reading.cleared = "sudo, which resets the environment"
        at = after
    return at


def _skip_options(words: tuple[Word, ...], at: int, name: str, reading: _Reading) -> int:
    takes_word, plain = _WRAPPERS[name]
    at += 1
    while at < len(words) and (words[at].text or "").startswith("-"):
        option = words[at].text or ""
        at += 1
        if option == "--":
            break
        argument = words[at].text if option in takes_word and at < len(words) else None
        _note_option(name, option, argument, reading)
        at += option in takes_word
    return at + plain


def _note_option(name: str, option: str, argument: str | None, reading: _Reading) -> None:
    if name == "exec" and not option.startswith("--") and "c" in option:
        reading.cleared = "exec -c"
    if name != "env":
        return
    if option in ("-", "-i", "--ignore-environment"):
        reading.cleared, reading.sites = "env -i", []
    elif option in ("-u", "--unset") and argument:
        _drop(reading, argument)
    elif option.startswith(("-u", "--unset=")):
        _drop(reading, re.sub(r"^(-u|--unset=)", "", option))
    else:
        reading.unclear = f"env {option}"


def _drop(reading: _Reading, name: str) -> None:
    reading.dropped.add(name)
    reading.sites = [site for site in reading.sites if site.name != name]


def _read_env(words: tuple[Word, ...], at: int, reading: _Reading) -> int:
    """The assignments after `env`."""
    while at < len(words):
        word = words[at]
        found = re.match(r"([\"']?)([A-Za-z_][A-Za-z0-9_]*)=", word.raw)
        if not found:
            break
        value = word.text.partition("=")[2] if word.text is not None else None
        name_end = word.span[0] + len(found[2])
        whole = bool(found[1])
        value_at = word.span if whole else (name_end, word.span[1])
        reading.sites.append(
            Site(found[2], "assign", word.line, "env", word.span, value_at, value, exports=True)
        )
        reading.dropped.discard(found[2])
        at += 1
    if at < len(words) and _may_assign(words, at):
        reading.unclear = f"{words[at].raw} among the words of env"
    reading.room = words[at - 1].span[1]
    return at


def _may_assign(words: tuple[Word, ...], at: int) -> bool:
    """Whether a dynamic word after env may be assignments instead of the command."""
    word = words[at]
    if word.text is not None or re.fullmatch(r'"[^@*]*"', word.raw):
        return False
    followed = at + 1 < len(words) and (words[at + 1].text or "").startswith("-")
    return not followed or "[@]" in word.raw or "[*]" in word.raw
