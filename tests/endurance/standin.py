"""A fast stand-in for the server, in a process of its own: right answers, or bad ones, as fast as Python writes them."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
from typing import TYPE_CHECKING

from tests.faultserver.server import Behaviour, FaultServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from tests.faultserver.server import Request


@contextlib.contextmanager
def standing_in(*, pause_s: float = 0.0, cut_after: int | None = None) -> Iterator[str]:
    """Its URL; the process ends with the block. `pause_s` after each of eight pieces, cut after so many bytes."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, pause_s, cut_after), daemon=True)
    process.start()
    theirs.close()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        ours.close()
        process.join()
        process.close()


def _serve(port_to: Connection, pause_s: float, cut_after: int | None) -> None:
    asyncio.run(_until_left(port_to, Behaviour(pause_s=pause_s, cut_after=cut_after)))


async def _until_left(port_to: Connection, behaviour: Behaviour) -> None:
    """Serve until whoever started us closes the pipe, or is gone."""

    def choose(request: Request) -> Behaviour:
        server.bodies.clear()
        return behaviour

    server = FaultServer(choose)
    async with server.serving():
        left = asyncio.Event()
        asyncio.get_running_loop().add_reader(port_to.fileno(), left.set)
        port_to.send(server.port)
        await left.wait()
