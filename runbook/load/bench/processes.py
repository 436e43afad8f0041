"""Client processes that share a load, where one event loop is not enough."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

from runbook.load.bench import drive
from runbook.load.ending import ClientDiedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor
    from multiprocessing.synchronize import Barrier

_START_S = 60.0


@contextlib.contextmanager
def processes(number: int) -> Iterator[Executor | None]:
    """`number` processes that are all up when the block starts; None for one: then this process sends by itself.

    A block that ends with an exception, such as Ctrl-C, stops them in the middle of their load. Raises ClientDiedError
    where one of them ended by itself.
    """
    if number == 1:
        yield None
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        number, mp_context=context, initializer=_meet, initargs=(context.Barrier(number),)
    ) as pool:
        list(pool.map(_present, range(number)))
        try:
            yield pool
        except BrokenProcessPool:
            raise ClientDiedError("a client process ended before its part of the load did") from None
        except BaseException:
            # The pool would wait for the load to end by itself.
            for child in multiprocessing.active_children():
                child.terminate()
            raise


def _meet(barrier: Barrier) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the process that started us
    barrier.wait(_START_S)


def _present(index: int) -> str:
    """Says nothing but that this process is up, with what it needs imported."""
    return drive.__name__
