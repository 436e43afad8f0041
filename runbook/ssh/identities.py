"""Who we are to a host: the agent's keys, then key files, then those whose passphrase a person must give."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import paramiko
from paramiko.agent import AgentSSH
from paramiko.auth_strategy import AuthSource, AuthStrategy, InMemoryPrivateKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import TracebackType

    from runbook.ssh.hops import Hop

_TRIES = 3  # of a passphrase, as ssh allows


class KeyFile(AuthSource):
    """A key in a file. `ask` reads its passphrase; without it a protected key is passed over."""

    def __init__(self, hop: Hop, path: Path, ask: Callable[[str], str] | None) -> None:
        super().__init__(username=hop.user)
        self._path = path
        self._ask = ask

    def authenticate(self, transport: paramiko.Transport) -> Any:
        self.pkey = read_key(self._path) if self._ask is None else unlock(self._path, self._ask)
        return transport.auth_publickey(self.username, self.pkey)


class Agent(AgentSSH):
    """The agent behind a socket; without one, or where nobody answers, it has no keys."""

    def __init__(self, path: str | None) -> None:
        super().__init__()
        if path is None:
            return
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            self._connect(connection)  # type: ignore[attr-defined]
        except (OSError, paramiko.SSHException):
            connection.close()

    def close(self) -> None:
        self._close()  # type: ignore[attr-defined]


class Identities(AuthStrategy):
    """The sources of one login, tried in order; `refusal` words what came of it. The agent is open until the end.

    `fingerprint` is that of the key that let us in, as `ssh-keygen -l` shows it; empty before that.
    """

    def __init__(self, hop: Hop, ask: Callable[[str], str] | None) -> None:
        super().__init__(ssh_config=paramiko.SSHConfig())
        self._hop = hop
        self._ask = ask
        self._tried: list[str] = []
        self._agent = Agent(hop.agent)
        self.fingerprint = ""

    def __enter__(self) -> Identities:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._agent.close()

    def authenticate(self, transport: paramiko.Transport) -> Any:
        results = super().authenticate(transport)
        source: Any = results[-1].source  # every source of ours holds its key
        self.fingerprint = str(source.pkey.fingerprint)
        return results

    def get_sources(self) -> Iterator[AuthSource]:
        for key in self._agent_keys():
            yield self._note(
                f"agent {key.get_name()} {key.fingerprint}", InMemoryPrivateKey(self._hop.user, key)
            )
        locked = [path for path in self._hop.keys if is_locked(path)]
        for path in self._hop.keys:
            if path not in locked:
                yield self._note(_told(path), KeyFile(self._hop, path, None))
        for path in locked if self._ask else ():
            yield self._note(f"{path} (passphrase)", KeyFile(self._hop, path, self._ask))
        if locked and not self._ask:
            self._tried.append(
                f"{', '.join(map(str, locked))}: protected by a passphrase, and nobody to ask for it"
            )

    def _note(self, name: str, source: AuthSource) -> AuthSource:
        self._tried.append(name)
        return source

    def _agent_keys(self) -> list[paramiko.AgentKey]:
        """The agent's keys; where the configuration wants only named ones, those that are among the files."""
        keys = list(self._agent.get_keys())
        if not self._hop.only_keys:
            return keys
        named = {public_key(path) for path in self._hop.keys}
        return [key for key in keys if key.get_base64() in named]

    def refusal(self, error: paramiko.AuthenticationException) -> str:
        """Why nobody let us in: every identity that was tried."""
        tried = "".join(f"\n  tried: {name}" for name in self._tried) or "\n  there was no key to try"
        another = "another key is named by IdentityFile of an alias in ~/.ssh/config, or by `key` under `ssh` in a host file"
        return f"{self._hop.label}: login refused{_allowed(error)}:{tried}\n  {another}"


def _told(path: Path) -> str:
    return str(path) if path.exists() else f"{path} (there is no such file)"


def _allowed(error: paramiko.AuthenticationException) -> str:
    """What the host would take instead, where it said so."""
    results = [one.result for one in getattr(error, "result", ())]
    types = {
        name
        for one in results
        if isinstance(one, paramiko.BadAuthenticationType)
        for name in one.allowed_types
    }
    return f" (it takes {', '.join(sorted(types))})" if types else ""


def read_key(path: Path, passphrase: str | None = None) -> paramiko.PKey:
    """A private key; SSHException where it cannot be read, also for a wrong passphrase."""
    try:
        return paramiko.PKey.from_path(path, passphrase.encode() if passphrase else None)  # type: ignore[arg-type]
    except (OSError, TypeError, ValueError, paramiko.SSHException) as error:
        raise paramiko.SSHException(f"{path}: {error}") from error


def is_locked(path: Path) -> bool:
    """Is a key file protected by a passphrase?"""
    try:
        paramiko.PKey.from_path(path)
    except TypeError:  # cryptography's word for "a password is needed"
        return True
    except (OSError, ValueError, paramiko.SSHException):
        return False
    return False


def unlock(path: Path, ask: Callable[[str], str]) -> paramiko.PKey:
    """The key of a protected file, after at most three passphrases."""
    for last in (False,) * (_TRIES - 1) + (True,):
        try:
            return read_key(path, ask(f"passphrase for {path}: "))
        except paramiko.SSHException:
            if last:
                raise
    raise AssertionError("unreachable: the last try returns or raises")


def public_key(path: Path) -> str | None:
    """The base64 of the public half beside a key file, None where it is not there."""
    try:
        words = path.with_name(f"{path.name}.pub").read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return None
    return words[1] if len(words) > 1 else None
