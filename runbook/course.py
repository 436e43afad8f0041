"""The course of a run: what it counted as it went, in so few samples that a record can hold them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LIMIT = 60


@dataclass
class Course:
    """Samples of a run's counts by outcome; `clock` returns seconds, `began` is what it returned when the run began.

    When there are more than LIMIT every other one goes and half as many are taken from then on, so that they stay
    spread evenly over a run of any length. The last is always kept.
    """

    clock: Callable[[], float]
    began: float
    _kept: list[dict[str, Any]] = field(default_factory=list)
    _last: dict[str, Any] | None = None
    _every: int = 1
    _told: int = 0

    def add(self, fields: Mapping[str, Any]) -> None:
        """Take a sample of a progress that counts; any other is passed over."""
        counts = fields.get("counts")
        if not isinstance(counts, dict):
            return
        at_s = round(self.clock() - self.began, 1)
        self._last = {"at_s": at_s, "ended": int(fields.get("ended") or 0), "counts": dict(counts)}
        if self._told % self._every == 0:
            self._kept.append(self._last)
        self._told += 1
        if len(self._kept) > LIMIT:
            self._kept, self._every = self._kept[::2], self._every * 2

    @property
    def samples(self) -> list[dict[str, Any]]:
        """`{"at_s", "ended", "counts"}` in order of time, at most LIMIT + 1 of them."""
        if self._last is None or (self._kept and self._kept[-1] is self._last):
            return list(self._kept)
        return [*self._kept, self._last]
