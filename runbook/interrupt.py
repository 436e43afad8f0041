"""Ctrl-C and SIGTERM as a request to stop: the first is honoured at the next safe point, the second at once."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

from runbook.errors import InterruptedByOperator

if TYPE_CHECKING:
    from collections.abc import Iterator
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
        before = {number: signal.signal(number, self.request) for number in _NUMBERS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Let the first request raise KeyboardInterrupt: whoever waits for a person's answer waits for no safe point."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in _NUMBERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
