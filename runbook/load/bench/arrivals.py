"""When the requests of an open loop are meant to go out."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def poisson(rate: float, seed: str) -> Iterator[float]:
    """Seconds after the start, without end; the gaps are exponential with mean 1 / `rate`. The first is 0."""
    chance = random.Random(seed)
    at = 0.0
    while True:
        yield at
        at += chance.expovariate(rate)


def scheduled(rate: float, seed: str, *, requests: int, duration_s: float | None) -> list[float]:
    """The intended send times of one repeat: `requests` of them, or all before `duration_s`."""
    times = poisson(rate, seed)
    if duration_s is None:
        return list(itertools.islice(times, requests))
    return list(itertools.takewhile(lambda at: at < duration_s, times))
