"""Start the helper on a connected host: a channel, the boot line, its greeting, the payload."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from runbook.errors import LinkLostError, PreflightError, UnreachableError
from runbook.onhost import frames
from runbook.ssh import boot, sudo
from runbook.ssh.broken import BROKEN, close

if TYPE_CHECKING:
    from collections.abc import Callable

    import paramiko

    from runbook.ssh.boot import Payload
    from runbook.ssh.hops import Hop
    from runbook.ssh.wire import Mode

_TICK_S = 0.05
_NOISE_LIMIT_BYTES = 1024 * 1024
_LAST_LINES = 10


@dataclass(slots=True)
class Heard:
    """What a channel has said so far, and how its command ended, if it did."""

    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)
    exit: int | None = None

    @property
    def said(self) -> str:
        """All of it as text, for messages: what a host says is shown, never obeyed."""
        return (bytes(self.out[-8192:]) + bytes(self.err[-8192:])).decode("utf-8", "replace")

    @property
    def last_lines(self) -> str:
        lines = [line for line in self.said.splitlines() if line.strip()][-_LAST_LINES:]
        return "".join(f"\n  {line}" for line in lines)


class Started(NamedTuple):
    """A channel behind which the helper runs, and what already came after its greeting."""

    channel: paramiko.Channel
    rest: bytes


class Start(NamedTuple):
    """What is started, on what, and how long its beginning may take. `payload` is given the Python's magic number."""

    hop: Hop
    transport: paramiko.Transport
    python: str
    payload: Payload
    timeout_s: float
    ask: Callable[[str], str] | None

    def run(self, mode: Mode, state: str, *, become: bool, scope: str = "system") -> Started:
        """The helper, greeted and given its payload and options.

        Raises PreflightError without a Python that will do, UnreachableError where the shell or sudo refuses.
        """
        started, greeting = self._elevated() if become else self._plain()
        if greeting.version < boot.OLDEST:
            close(started)
            raise PreflightError(_too_old(self.hop.label, self.python, greeting.version))
        options = frames.encode({"mode": mode, "state": state, "scope": scope})
        self._give(started, boot.payload_frame(self.payload(greeting.magic)) + options)
        return Started(started, greeting.rest)

    def _plain(self) -> tuple[paramiko.Channel, boot.Greeting]:
        nonce = secrets.token_hex(8)
        channel = self._exec(boot.boot_command(self.python, nonce))
        heard = Heard()
        greeting = self._await(channel, nonce, heard)
        if greeting is None:
            raise _no_greeting(self.hop.label, self.python, heard)
        return channel, greeting

    def _elevated(self) -> tuple[paramiko.Channel, boot.Greeting]:
        """Without a password first; then with one, given only where sudo asks for it by our own prompt."""
        nonce = secrets.token_hex(8)
        command = boot.boot_command(self.python, nonce)
        heard = Heard()
        channel = self._exec(sudo.passwordless(command))
        greeting = self._await(channel, nonce, heard)
        if greeting is None and sudo.wants_password(heard.said):
            heard = Heard()
            channel, greeting = self._with_password(command, nonce, heard)
        if greeting is None:
            raise self._sudo_refused(heard)
        return channel, greeting

    def _with_password(
        self, command: str, nonce: str, heard: Heard
    ) -> tuple[paramiko.Channel, boot.Greeting | None]:
        prompt = f"runbook-{secrets.token_hex(8)}"
        password = sudo.password(self.hop.label, self.ask)
        channel = self._exec(sudo.with_password(command, prompt))
        greeting = self._await(channel, nonce, heard, prompt, times=1)
        if greeting is None and heard.exit is None:
            self._give(channel, f"{password}\n".encode())
            greeting = self._await(channel, nonce, heard, prompt, times=2)
        if greeting is None and heard.exit is None:
            close(channel)
            raise UnreachableError(f"{self.hop.label}: sudo did not accept the password")
        return channel, greeting

    def _sudo_refused(self, heard: Heard) -> UnreachableError | PreflightError:
        meaning = sudo.refusal(heard.said, self.hop.user)
        if meaning is None:
            return _no_greeting(self.hop.label, self.python, heard)
        return UnreachableError(f"{self.hop.label}: {meaning}{heard.last_lines}")

    def _exec(self, command: str) -> paramiko.Channel:
        try:
            channel = self.transport.open_session(timeout=self.timeout_s)
            channel.settimeout(self.timeout_s)
            channel.exec_command(command)
        except BROKEN as error:
            raise LinkLostError(f"{self.hop.label}: no session could be opened: {error}") from error
        return channel

    def _give(self, channel: paramiko.Channel, content: bytes) -> None:
        channel.settimeout(None)
        try:
            channel.sendall(content)
        except BROKEN as error:
            raise LinkLostError(
                f"{self.hop.label}: the connection was lost while the helper was sent"
            ) from error

    def _await(
        self, channel: paramiko.Channel, nonce: str, heard: Heard, prompt: str = "", times: int = 0
    ) -> boot.Greeting | None:
        """The greeting; None where the command ended or the prompt has come `times` times (`heard` says which)."""
        deadline = time.monotonic() + self.timeout_s
        channel.settimeout(_TICK_S)
        while time.monotonic() < deadline and len(heard.out) + len(heard.err) < _NOISE_LIMIT_BYTES:
            ended = _hear(channel, heard)
            greeting = boot.find_greeting(bytes(heard.out), nonce)
            if greeting is not None:
                return greeting
            if times and (heard.err + heard.out).count(prompt.encode()) >= times:
                return None
            if ended:
                heard.exit = channel.recv_exit_status() if channel.status_event.wait(1.0) else -1
                close(channel)
                return None
        close(channel)
        raise UnreachableError(
            f"{self.hop.label}: logged in, but Python did not start within {self.timeout_s:.0f} s{heard.last_lines}"
        )


def _hear(channel: paramiko.Channel, heard: Heard) -> bool:
    """Take in what has come, waiting a moment for it; has the command ended?"""
    ended = False
    try:
        chunk = channel.recv(65536)
        heard.out += chunk
        ended = not chunk
    except TimeoutError:
        pass
    while channel.recv_stderr_ready():
        heard.err += channel.recv_stderr(65536)
    return ended


def _no_greeting(label: str, python: str, heard: Heard) -> UnreachableError | PreflightError:
    """The shell ended without starting Python: either there is none, or the login itself is not for commands."""
    said = heard.said.lower()
    if heard.exit in (126, 127) or "not found" in said or "no such file" in said:
        return PreflightError(
            f"{label}: no Python at `{python}` (exit {heard.exit}); the helper needs Python "
            f"{_version(boot.OLDEST)} or later, and `python:` in the host file names it{heard.last_lines}"
        )
    return UnreachableError(
        f"{label}: logged in, but the login shell ended (exit {heard.exit}) before Python started{heard.last_lines}"
    )


def _too_old(label: str, python: str, found: tuple[int, int]) -> str:
    return (
        f"{label}: `{python}` is Python {_version(found)}; the helper needs {_version(boot.OLDEST)} or later, "
        "and `python:` in the host file names another"
    )


def _version(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
