"""Ctrl-C and SIGTERM as a request to stop: the first is honoured at the next safe point, the second at once."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

from runbook.errors import InterruptedByOperator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType


_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupt:
    """Remembers that the operator asked to stop; `checkpoint` raises for it once, so that the way out is not stopped too."""

    def __init__(self) -> None:
        self.asked = False
        self._raised = False

    def checkpoint(self) -> None:
        if self.asked and not self._raised:
            self._raised = True
            raise InterruptedByOperator("stopped by the operator")

    def request(self, number: int, frame: FrameType | None) -> None:
        """The signal handler: the second request does not wait."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Route SIGINT, SIGTERM and SIGHUP here until left."""
        with _routed(self.request):
            yield


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Let the first request raise KeyboardInterrupt: whoever waits for a person's answer waits for no safe point."""
    with _routed(signal.default_int_handler):
        yield


@contextlib.contextmanager
def passed_on(to: Callable[[int], None]) -> Iterator[None]:
    """Leave requests to a program that we wait for: `to` hands it their signal."""
    with _routed(lambda number, frame: to(number)):
        yield


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Let requests wait, in a process of one thread, also in a program started here, which has not begun to listen: it lets
    them in by `once`."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def once() -> Iterator[None]:
    """Let one request raise KeyboardInterrupt; later ones, and those after the end, stop neither the way out nor what is done."""
    for number in _NUMBERS:
        signal.signal(number, _raise_and_ignore)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _NUMBERS)
    try:
        yield
    finally:
        _ignore()


def _raise_and_ignore(number: int, frame: FrameType | None) -> None:
    _ignore()
    raise KeyboardInterrupt


def _ignore() -> None:
    for number in _NUMBERS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def _routed(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in _NUMBERS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
