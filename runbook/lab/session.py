"""One exec request: the user's shell runs the command, and the bytes go through untouched, both ways.

When the connection dies the process sees the end of its stdin and a closed stdout, and is otherwise left alone, as
sshd does it. `process.redirect()` of asyncssh can drop the whole connection when a channel closes early, so the bytes
are pumped here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import asyncssh

from runbook.lab.pipes import OutputPipe, open_output_pipe
from runbook.lab.processes import Identity, alive, end, family, identify, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a session's shell finds around it."""

    shell: str
    home: str
    environ: Mapping[str, str]


class Sessions:
    """The exec requests in progress."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._leaders: set[Identity] = set()

    async def run(self, channel: asyncssh.SSHServerProcess[bytes]) -> None:
        """Run what the client asked for, and tell it how that ended."""
        out, err = await open_output_pipe(), await open_output_pipe()
        try:
            process = await self._start(channel, out.write_fd, err.write_fd)
        finally:
            os.close(out.write_fd)
            os.close(err.write_fd)
        with self._listed(process.pid):
            feeding = asyncio.create_task(_feed(channel, process))
            await asyncio.gather(_drain(out, channel.stdout), _drain(err, channel.stderr))
            code = await process.wait()
        feeding.cancel()
        _report(channel, code)

    async def _start(
        self, channel: asyncssh.SSHServerProcess[bytes], out: int, err: int
    ) -> asyncio.subprocess.Process:
        around, command = self._surroundings, channel.command
        return await asyncio.create_subprocess_exec(
            *((around.shell, "-c", command) if command is not None else (around.shell,)),
            stdin=asyncio.subprocess.PIPE,
            stdout=out,
            stderr=err,
            env={**around.environ, **_accepted(channel.env), **_connection(channel)},
            cwd=around.home,
            start_new_session=True,
        )

    @contextlib.contextmanager
    def _listed(self, pid: int) -> Iterator[None]:
        leader = identify(pid)
        self._leaders |= {leader} if leader else set()
        try:
            yield
        finally:
            self._leaders -= {leader} if leader else set()

    def end(self, grace_s: float) -> None:
        """End every session's processes; they have seen the end of their input before, and get `grace_s` to go."""
        until = time.monotonic() + grace_s
        while any(map(alive, self._leaders)) and time.monotonic() < until:
            time.sleep(0.02)
        end(family(self._leaders, table()) if self._leaders else (), grace_s=1.0)


def _accepted(environ: Mapping[str, str]) -> dict[str, str]:
    """sshd's usual AcceptEnv."""
    return {name: value for name, value in environ.items() if name == "LANG" or name.startswith("LC_")}


def _connection(channel: asyncssh.SSHServerProcess[bytes]) -> dict[str, str]:
    peer, here = channel.get_extra_info("peername"), channel.get_extra_info("sockname")
    return {"SSH_CONNECTION": f"{peer[0]} {peer[1]} {here[0]} {here[1]}"} if peer and here else {}


async def _feed(channel: asyncssh.SSHServerProcess[bytes], process: asyncio.subprocess.Process) -> None:
    """Client to process, until either ends; then the process sees the end of its input."""
    assert process.stdin
    try:
        while chunk := await _read(channel, process):
            process.stdin.write(chunk)
            await process.stdin.drain()
    except (asyncssh.Error, OSError):
        pass  # the link died: for the process that is the end of its input too
    finally:
        process.stdin.close()


async def _read(channel: asyncssh.SSHServerProcess[bytes], process: asyncio.subprocess.Process) -> bytes:
    while True:
        try:
            return await channel.stdin.read(_CHUNK)
        except asyncssh.SignalReceived as received:
            _pass_on(received.signal, process)
        except (asyncssh.BreakReceived, asyncssh.TerminalSizeChanged):
            continue


def _pass_on(name: str, process: asyncio.subprocess.Process) -> None:
    number = getattr(signal, f"SIG{name}", None)
    if number is not None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)


async def _drain(pipe: OutputPipe, out: asyncssh.SSHWriter[bytes]) -> None:
    """Process to client. With the client gone the pipe is closed, so that the process notices as it does below sshd."""
    with contextlib.closing(pipe), contextlib.suppress(asyncssh.Error, OSError):
        while chunk := await pipe.reader.read(_CHUNK):
            out.write(chunk)
            await out.drain()


def _report(channel: asyncssh.SSHServerProcess[bytes], code: int) -> None:
    with contextlib.suppress(asyncssh.Error, OSError):
        if code < 0:
            channel.exit_with_signal(signal.Signals(-code).name.removeprefix("SIG"))
        else:
            channel.exit(code)
