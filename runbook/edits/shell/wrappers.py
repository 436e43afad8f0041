"""Wrappers before a launched command (`exec`, `nohup`, `env K=0 …`), and what they do to its environment."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runbook.edits.shell.sites import Site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.edits.shell.words import Word

# Wrapper → its options that take a word of their own, and how many plain words it takes before the command.
_WRAPPERS = {
    "exec": ("-a", 0),
    "command": ("", 0),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c -n -p --class --classdata", 0),
    "taskset": ("", 1),
    "chrt": ("-T -P -D", 1),
    "numactl": ("-N -m -C -i -p --cpunodebind --membind --physcpubind --interleave --preferred", 0),
    "stdbuf": ("-i -o -e --input --output --error", 0),
    "timeout": ("-k -s --kill-after --signal", 1),
    "env": ("-u --unset -C --chdir", 0),
    "builtin": ("", 0),
    "flock": ("-w -E --timeout --conflict-exit-code", 1),
    "prlimit": ("", 0),
    "setarch": ("", 0),
    "setpriv": ("", 0),
    "unshare": ("", 0),
    "tini": ("-p -e", 0),
    "dumb-init": ("-r --rewrite", 0),
    "xargs": (
        "-I -n -L -P -d -E -s -a --arg-file --delimiter --max-args --max-lines --max-procs --max-chars",
        0,
    ),
    "sudo": ("-u -g -p -C -D -R -T -h --user --group", 0),
}
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
# A variable that holds the command by its name, and so no assignment
_PROGRAM = re.compile(r"(?i)py|bin|exe|cmd|command|prog|server")


@dataclass(slots=True)
class Wrapping:
    """What has been read off the wrappers so far."""

    sites: list[Site] = field(default_factory=list)
    cleared: str = ""
    dropped: set[str] = field(default_factory=set)
    room: int | None = None
    unclear: str = ""


def unwrap(words: Sequence[Word], reading: Wrapping) -> int:
    """Read past `exec`, `nohup`, `env …` and their kind; the position of the real command."""
    at = 0
    while at < len(words):
        name = (words[at].text or "").rpartition("/")[2]
        if name not in _WRAPPERS:
            break
        after = _skip_options(words, at, name, reading)
        if name == "env":
            after = _read_env(words, after, reading)
        elif name == "sudo":
            _note_sudo(words[at + 1 : after + 1], reading)
        at = after
    return at


def _note_sudo(words: Sequence[Word], reading: Wrapping) -> None:
    """Without -E and assignments of its own sudo hands nothing on; with them its policy decides."""
    if any(re.match(r"-[A-Za-z]*E|--preserve-env|[A-Za-z_][A-Za-z0-9_]*=", word.raw) for word in words):
        reading.unclear = "sudo with an environment of its own"
    elif not reading.cleared:
        reading.cleared = "sudo, which resets the environment"


def _skip_options(words: Sequence[Word], at: int, name: str, reading: Wrapping) -> int:
    takes_word, plain = _WRAPPERS[name]
    at += 1
    while at < len(words) and (words[at].text or "").startswith("-"):
        option = words[at].text or ""
        at += 1
        if option == "--":
            break
        argument = words[at].text if option in takes_word.split() and at < len(words) else None
        _note_option(name, option, argument, reading)
        at += option in takes_word.split()
    return min(at + plain, len(words))  # an option at the end may lack its word


def _note_option(name: str, option: str, argument: str | None, reading: Wrapping) -> None:
    if name == "exec" and not option.startswith("--") and "c" in option:
        reading.cleared = "exec -c"
    if name != "env":
        return
    if option in ("-", "--ignore-environment") or re.fullmatch(r"-[v0]*i[iv0]*", option):
        reading.cleared, reading.sites = "env -i", []
    elif option in ("-u", "--unset") and argument:
        _drop(reading, argument)
    elif option.startswith(("-u", "--unset=")):
        _drop(reading, re.sub(r"^(-u|--unset=)", "", option))
    elif not re.fullmatch(r"-[v0]+|-C.*|--chdir.*|--debug|--null", option, re.DOTALL):
        reading.unclear = f"env {option}"


def _drop(reading: Wrapping, name: str) -> None:
    reading.dropped.add(name)
    reading.sites = [site for site in reading.sites if site.name != name]


def _read_env(words: Sequence[Word], at: int, reading: Wrapping) -> int:
    """The assignments after `env`."""
    while at < len(words):
        word = words[at]
        found = _ASSIGNMENT.match(word.raw.lstrip("\"'") if word.text is None else word.text)
        if not found:
            break
        name, value = found[1], word.text.partition("=")[2] if word.text is not None else None
        plain = word.raw.startswith(f"{name}=")
        value_at = (word.span[0] + len(name), word.span[1]) if plain else word.span
        reading.sites.append(Site(name, "assign", word.line, "env", word.span, value_at, value, exports=True))
        reading.dropped.discard(name)
        at += 1
    if at < len(words) and _may_assign(words, at):
        reading.unclear = f"{words[at].raw} among the words of env"
    reading.room = words[at - 1].span[1]
    return at


def _may_assign(words: Sequence[Word], at: int) -> bool:
    """Whether a dynamic word after env may be assignments instead of the command."""
    word = words[at]
    if word.text is not None or (re.fullmatch(r'"[^@*]*"', word.raw) and _PROGRAM.search(word.raw)):
        return False
    followed = at + 1 < len(words) and (words[at + 1].text or "").startswith("-")
    return not followed or "[@]" in word.raw or "[*]" in word.raw
