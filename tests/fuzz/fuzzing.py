"""The loop of a fuzzer: a case from its number, a limit on its time, and a failure that says how to replay it."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
import tracemalloc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

CPU_S, CASE_S = 8.0, 120.0
"""No case may take more of our processor's time, nor of the clock's on a busy machine; the slowest take a tenth of it."""


class Target(Protocol):
    """What is fuzzed: a case is written from a random stream alone, and `hold` raises AssertionError where a law breaks.

    Anything else that `hold` raises is a failure too. One that has a law of memory says `TRACED = True`.
    """

    def case(self, rng: random.Random) -> Any:
        """Input of one try."""

    def hold(self, case: Any) -> None:
        """Try it."""


class Hung(BaseException):
    """A case took longer than it may; no `except Exception` of what is tried may swallow it."""


class FuzzFailure(AssertionError):
    """A case that broke a law; its message holds the command that replays it."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a run did: cases, seconds, and the longest case in seconds."""

    cases: int
    took_s: float
    slowest_s: float


def case_of(target: Target, seed: str, number: int) -> Any:
    """The case of a number: the same on every machine."""
    return target.case(random.Random(f"{seed}:{number}"))


def fuzz(
    name: str, target: Target, *, seed: str, seconds: float, cases: int | None = None, first: int = 0
) -> Tally:
    """Try cases until the time or their number is up; FuzzFailure at the first that breaks a law."""
    began = time.monotonic()
    number, slowest = first, 0.0
    with traced() if getattr(target, "TRACED", False) else contextlib.nullcontext():
        while time.monotonic() - began < seconds and (cases is None or number < first + cases):
            slowest = max(slowest, _tried(name, target, seed, number))
            number += 1
    return Tally(number - first, time.monotonic() - began, slowest)


def _tried(name: str, target: Target, seed: str, number: int) -> float:
    """One case; how long it took."""
    case = case_of(target, seed, number)
    began = time.monotonic()
    try:
        with limited(), _threads_heard() as broken:
            target.hold(case)
        if broken:
            raise broken[0]
    except (Exception, Hung) as error:
        replay = f"python -m tests.fuzz --target {name} --seed {seed} --case {number}"
        raise FuzzFailure(
            f"{type(error).__name__}: {error}\nreplay: {replay}\ncase: {case!r:.2000}"
        ) from error
    return time.monotonic() - began


@contextlib.contextmanager
def traced() -> Iterator[None]:
    """Memory traced once for all cases: to stop tracing while another thread allocates may crash Python (gh-128679)."""
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Hung raised in the body when its time is up; from any thread but the first it has no limit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hung(f"more than {CASE_S:g} s, or {CPU_S:g} s of the processor")

    before = [(number, signal.signal(number, ring)) for number in (signal.SIGALRM, signal.SIGVTALRM)]
    signal.setitimer(signal.ITIMER_REAL, CASE_S)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        for number, handler in before:
            signal.signal(number, handler)


@contextlib.contextmanager
def _threads_heard() -> Iterator[list[BaseException]]:
    """What threads of the body died of."""
    broken: list[BaseException] = []
    before = threading.excepthook
    threading.excepthook = lambda args: broken.append(args.exc_value or args.exc_type())
    try:
        yield broken
    finally:
        threading.excepthook = before
