"""The step in progress as at most two lines that fit a terminal: where it is in its budget, and what it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from runbook.text import fitted, folded, one_line, sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDEST_BAR = 24
NARROWEST_BAR = 8


class Doing(NamedTuple):
    """A step as it was last told. `fields` are the numbers of its last progress."""

    name: str
    budget_s: float | None = None
    said: str = ""
    fields: Mapping[str, Any] = {}


def first(doing: Doing, elapsed_s: float, width: int) -> str:
    """`validate final80  12 s of 260 s`; the name gives way, never the time."""
    of = f" of {seconds(doing.budget_s)}" if doing.budget_s else ""
    time = f"  {seconds(elapsed_s)}{of}"
    return fitted(one_line(doing.name), max(width - len(time), 1)) + time


def below(doing: Doing, width: int) -> list[str]:
    """What the step said last, behind a bar where it is known how much there is to do; on two lines at most."""
    said, share = sentence(doing.said), share_of(doing.fields)
    if share is not None:
        said = f"{bar(share, max(NARROWEST_BAR, min(WIDEST_BAR, width // 4)))} {said}"
    first, *rest = folded(said, width) if said else [""]
    return [fitted(line, width) for line in (first, " ".join(map(str.strip, rest))) if line]


def share_of(fields: Mapping[str, Any]) -> float | None:
    """How much of the step is done: sessions that ended, or the bench's time. None where nobody can tell."""
    for done, whole in (("ended", "sessions"), ("elapsed_s", "whole_s")):
        some, all_ = fields.get(done), fields.get(whole)
        if isinstance(some, int | float) and isinstance(all_, int | float) and all_ > 0:
            return min(max(some / all_, 0.0), 1.0)
    return None


def bar(share: float, width: int) -> str:
    """`[█████░░░]`, `width` characters with its brackets."""
    full = round(share * (width - 2))
    return f"[{'█' * full}{'░' * (width - 2 - full)}]"


def is_bad(fields: Mapping[str, Any]) -> bool:
    """Whether the run has already seen corruption or failures."""
    return bool(fields.get("corrupt") or fields.get("failed"))


def seconds(value: float) -> str:
    """`65 s`, `12 min 5 s`, `1 h 4 min`: short enough to be read while it runs."""
    whole = int(value)
    if whole < 600:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
