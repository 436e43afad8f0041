"""A pipe whose read end this loop reads and whose write end a child process gets."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OutputPipe:
    """`close()` lets go of the read end: from then on the writer sees a broken pipe."""

    reader: asyncio.StreamReader
    transport: asyncio.ReadTransport
    write_fd: int

    def close(self) -> None:
        self.transport.close()


async def open_output_pipe() -> OutputPipe:
    """A fresh pipe; whoever opened it closes `write_fd` once the child has it."""
    read_fd, write_fd = os.pipe()
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_fd, "rb", buffering=0)
    )
    return OutputPipe(reader, transport, write_fd)
