"""One file a corruption class, found by its name: `judge(exchange) -> Iterable[Defect]`, pure.

The order of PRIORITY decides which class a session with several defects is counted under: causes before what
follows from them. A class that is not listed comes last.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runbook.load.defects import Defect
    from runbook.load.exchange import Exchange

PRIORITY = (
    "streamerror",
    "flood",
    "leak",
    "badutf8",
    "foreign",
    "truncated",
    "merged",
    "badtool",
    "badvalue",
    "badusage",
    "garbled",
    "loop",
    "duplicate",
    "badjson",
    "empty",
    "badfinish",
    "slip",
    "miscopy",
)


class Judge(Protocol):
    def __call__(self, exchange: Exchange, /) -> Iterable[Defect]: ...


@functools.cache
def judges() -> Mapping[str, Judge]:
    """Every judge by its class."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    found = {name: importlib.import_module(f"{__name__}.{name}").judge for name in names}
    return {name: found[name] for name in sorted(found, key=_place)}


def judge(exchange: Exchange) -> tuple[Defect, ...]:
    """All defects of one exchange, causes first."""
    return tuple(defect for one in judges().values() for defect in one(exchange))


def _place(name: str) -> tuple[int, str]:
    return (PRIORITY.index(name) if name in PRIORITY else len(PRIORITY), name)
