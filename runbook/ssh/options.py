"""What OpenSSH's configuration says of a host: `ssh -G`'s answer, or Fabric's parser where there is no ssh."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from runbook.errors import UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable

Options = dict[str, list[str]]  # lower-case keyword → its values in order
NO_FILES = ("none", "/dev/null")  # as with `ssh -F`: no configuration file at all
_ASK_TIMEOUT_S = 10.0

if TYPE_CHECKING:
    Ask = Callable[[str, str | None, int | None], Options]  # address, user, port


def asker(config: str | None) -> Ask:
    """Who is asked about an address, for a user and port that were given or not. `config` is as `ssh -F` takes it."""
    if config in NO_FILES:
        return _bare
    ssh = shutil.which("ssh")
    if ssh is None:
        return lambda address, user, port: _by_fabric(config, address, user, port)
    return lambda address, user, port: _by_ssh(ssh, config, address, user, port)


def _bare(address: str, user: str | None, port: int | None) -> Options:
    """No configuration at all: what was asked for, and ssh's defaults."""
    return _given(user, port)


def _given(user: str | None, port: int | None) -> Options:
    options: Options = {}
    if user:
        options["user"] = [user]
    if port:
        options["port"] = [str(port)]
    return options


def _by_ssh(ssh: str, config: str | None, address: str, user: str | None, port: int | None) -> Options:
    argv = [
        ssh,
        "-G",
        *(("-F", config) if config else ()),
        *(("-l", user) if user else ()),
        *(("-p", str(port)) if port else ()),
    ]
    try:
        done = subprocess.run(
            [*argv, "--", address],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UnreachableError(f"`ssh -G {address}` did not answer within {_ASK_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip()
        raise UnreachableError(f"ssh's configuration for {address} cannot be read: {reason}")
    return parse_options(done.stdout.decode("utf-8", "replace"))


def parse_options(text: str) -> Options:
    """`ssh -G`'s lines: a lower-case keyword, a space, the value."""
    options: Options = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        options.setdefault(key, []).append(value)
    return options


def _by_fabric(config: str | None, address: str, user: str | None, port: int | None) -> Options:
    from fabric import Config

    found = Config(runtime_ssh_path=config).base_ssh_config.lookup(address)
    options = {key: value if isinstance(value, list) else [value] for key, value in found.items()}
    return {**options, **_given(user, port)}
