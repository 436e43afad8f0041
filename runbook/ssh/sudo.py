"""sudo without guessing: C locale, a prompt of our own, a password only after it, and its refusals in words."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from runbook.errors import UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable

PASSWORD_FILE = "RUNBOOK_SUDO_PASSWORD_FILE"
PASSWORD_COMMAND = "RUNBOOK_SUDO_PASSWORD_COMMAND"  # a keyring's: its first line of output is the password
_COMMAND_S = 60.0
# What sudo says in the C locale (sudo 1.8 to 1.9), and what it means.
_REFUSALS = (
    (
        "you must have a tty",
        "sudo wants a terminal there (requiretty); add `Defaults:{user} !requiretty` to its sudoers",
    ),
    ("is not in the sudoers file", "{user} is not in its sudoers file"),
    ("may not run sudo", "{user} may not run sudo there"),
    ("is not allowed to execute", "sudo does not allow {user} to run Python there"),
    ("sudo: command not found", "there is no sudo; log in as root or set `become: false`"),
    ("sudo: not found", "there is no sudo; log in as root or set `become: false`"),
    ("'sudo': No such file", "there is no sudo; log in as root or set `become: false`"),
    ("no new privileges", "the login may not gain privileges, so sudo cannot work there"),
)
_PASSWORD_WANTED = ("a password is required", "a terminal is required to read the password")


def passwordless(command: str) -> str:
    """The command under sudo that never asks."""
    return f"env LC_ALL=C sudo -n {command}"


def with_password(command: str, prompt: str) -> str:
    """The command under sudo that asks with our own prompt and reads the answer from its input."""
    return f"env LC_ALL=C sudo -S -p {prompt} {command}"


def wants_password(said: str) -> bool:
    """Did `sudo -n` end because only a password would help?"""
    return any(text in said for text in _PASSWORD_WANTED)


def refusal(said: str, user: str) -> str | None:
    """What sudo's refusal means, None where it is none we know."""
    return next((meaning.format(user=user) for text, meaning in _REFUSALS if text in said), None)


def password(label: str, ask: Callable[[str], str] | None) -> str:
    """The password from the file or command the environment names, or from a person; UnreachableError without any."""
    named, command = os.environ.get(PASSWORD_FILE), os.environ.get(PASSWORD_COMMAND)
    if named:
        return _read(Path(named).expanduser())
    if command:
        return _told_by(command)
    if ask is not None:
        return ask(f"sudo password for {label}: ")
    raise UnreachableError(
        f"{label}: sudo wants a password and there is nobody to ask; name a file that holds it in {PASSWORD_FILE} "
        f"or a command that prints it in {PASSWORD_COMMAND}"
    )


def _told_by(command: str) -> str:
    """The first line a command of the user's own prints."""
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=_COMMAND_S,
            check=True,
        )
    except (subprocess.SubprocessError, OSError):
        raise UnreachableError(
            f"{PASSWORD_COMMAND}: the command failed, so there is no sudo password"
        ) from None
    return done.stdout.decode("utf-8", "replace").partition("\n")[0].rstrip("\r")


def _read(path: Path) -> str:
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise UnreachableError(f"{path}: others may read this password; `chmod 600 {path}`")
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise UnreachableError(f"{path}: the sudo password cannot be read: {error.strerror}") from None
