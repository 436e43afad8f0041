"""One activation of a unit: its shim, the pipe its output comes through, and what the shim reports."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.lab.pipes import OutputPipe, open_output_pipe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

_SHIM = Path(__file__).with_name("shim.py")
_LINE_LIMIT = 48 * 1024
_OUTPUT_S = 1.0


@dataclass(frozen=True, slots=True)
class Command:
    """What the main process is to be."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str


class Activation:
    """A shim and its unit's processes. `on_report` gets what the shim tells, `on_line` each line of output."""

    def __init__(self, on_report: Callable[[dict[str, Any]], None], on_line: Callable[[str], None]) -> None:
        self._on_report = on_report
        self._on_line = on_line
        self._process: asyncio.subprocess.Process | None = None
        self._unsent: list[dict[str, Any]] = []

    @property
    def shim_pid(self) -> int:
        """0 until the shim is there."""
        return self._process.pid if self._process else 0

    async def run(self, command: Command) -> None:
        """Start the shim and follow it and the unit's output to their ends."""
        output = await open_output_pipe()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(_SHIM)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                pass_fds=(output.write_fd,),
                start_new_session=True,
            )
        finally:
            os.close(output.write_fd)
        following = asyncio.create_task(self._follow_output(output))
        self._write(argv=command.argv, env=command.env, cwd=command.cwd, log_fd=output.write_fd)
        for item in self._unsent:
            self._write(**item)
        await self._follow_reports(self._process)
        # With the shim killed, what it left may hold the pipe open for good.
        await asyncio.wait({following}, timeout=_OUTPUT_S)
        following.cancel()

    def send(self, signal: int, who: str) -> None:
        """Have the shim send a signal; kept until the shim is there."""
        if self._process is None:
            self._unsent.append({"signal": signal, "who": who})
        else:
            self._write(signal=signal, who=who)

    def _write(self, **item: object) -> None:
        stdin = self._process.stdin if self._process else None
        if stdin and not stdin.is_closing():
            stdin.write(json.dumps(item).encode() + b"\n")

    async def _follow_reports(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            self._on_report(json.loads(line))
        await process.wait()

    async def _follow_output(self, output: OutputPipe) -> None:
        with contextlib.closing(output):
            async for line in _lines(output.reader):
                self._on_line(line.decode("utf-8", "replace"))


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Lines without their ends, cut where they grow too long."""
    held = b""
    while chunk := await reader.read(64 * 1024):
        *lines, held = (held + chunk).split(b"\n")
        if len(held) > _LINE_LIMIT:
            lines, held = [*lines, held], b""
        for line in lines:
            yield line
    if held:
        yield held
