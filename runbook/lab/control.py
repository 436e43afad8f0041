"""The socket through which the lab's `systemctl`, `journalctl` and `logger` reach the unit manager."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from runbook.lab.systemd import journalctl, logger, systemctl
from runbook.lab.systemd.answer import Answer

if TYPE_CHECKING:
    from pathlib import Path

    from runbook.lab.systemd.journal import Journal
    from runbook.lab.systemd.units import Units

_LIMIT_BYTES = 256 * 1024


async def serve(path: Path, units: Units, journal: Journal) -> asyncio.Server:
    """Answer on a unix socket: words joined by NUL in, `CODE LENGTH\\n`, stdout and stderr out."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError), contextlib.closing(writer):
            words = await _words(reader)
            writer.write(encode(await answer(units, journal, words)))
            await writer.drain()

    return await asyncio.start_unix_server(talk, path)


async def _words(reader: asyncio.StreamReader) -> list[str]:
    sent = b""
    while len(sent) < _LIMIT_BYTES and (chunk := await reader.read(_LIMIT_BYTES)):
        sent += chunk
    return sent.decode("utf-8", "replace").split("\0")


async def answer(units: Units, journal: Journal, words: list[str]) -> Answer:
    """What one command line of one tool is answered with."""
    tool, *argv = words
    if tool == "systemctl":
        return await systemctl.answer(units, journal, argv)
    if tool == "journalctl":
        return journalctl.answer(journal, argv)
    if tool == "logger":
        return logger.answer(journal, argv)
    return Answer(err=f"{tool}: the lab has no such tool\n", code=127)


def encode(said: Answer) -> bytes:
    """An answer as the client reads it."""
    out, err = (text.encode("utf-8", "surrogateescape") for text in (said.out, said.err))
    return b"%d %d\n" % (said.code, len(out)) + out + err
