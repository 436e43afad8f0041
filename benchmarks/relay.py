"""A far host on this machine: a loopback port that passes every byte on to a host, and back, after a delay each way."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK_BYTES = 65536


@contextlib.contextmanager
def relay(address: str, port: int, delay_s: float) -> Iterator[int]:
    """A port of 127.0.0.1 whose connections reach `address:port`, every chunk `delay_s` later each way."""
    loop = asyncio.new_event_loop()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            far_reader, far_writer = await asyncio.open_connection(address, port)
            await asyncio.gather(_pass_on(reader, far_writer, delay_s), _pass_on(far_reader, writer, delay_s))

    server = loop.run_until_complete(asyncio.start_server(accept, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(timeout=10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    """Read without waiting and write each chunk when it is due: a delay, but no limit on the rate."""
    due: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
    clock = asyncio.get_running_loop().time
    writing = asyncio.create_task(_write(due, writer))
    chunk = b"?"
    while chunk:
        try:
            chunk = await reader.read(_CHUNK_BYTES)
        except OSError:
            chunk = b""
        due.put_nowait((clock() + delay_s, chunk))
    await writing


async def _write(due: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
    clock = asyncio.get_running_loop().time
    with contextlib.suppress(OSError):
        while True:
            at, chunk = await due.get()
            await asyncio.sleep(max(0.0, at - clock()))
            if not chunk:
                break
            writer.write(chunk)
            await writer.drain()
    writer.close()


async def _end(server: asyncio.Server) -> None:
    """No more connections, and those that are there end now."""
    server.close()
    mine = asyncio.current_task()
    tasks = [task for task in asyncio.all_tasks() if task is not mine]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
