"""What a worker reads from its environment: SGLang's switches and the lab's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_TRUE = frozenset({"true", "1", "yes", "y"})
_FALSE = frozenset({"false", "0", "no", "n"})
_SHOWN = ("SGLANG_", "RUNBOOK_LAB_")


@dataclass(frozen=True, slots=True)
class Switches:
    """The switches a worker was started with; every default is the engine's.

    `slow` multiplies the time of a decode step; `seed` fixes where the race strikes. `shown` is the part of the
    environment that `/server_info` repeats.
    """

    overlap: bool = True
    bf16_index_k: bool = False
    topk_v2: bool = True
    slow: float = 1.0
    seed: int | None = None
    start_delay_s: float = 0.0
    crash_after_s: float | None = None
    never_healthy: bool = False
    retitle: bool = False
    shown: Mapping[str, str] = field(default_factory=dict)

    @property
    def races(self) -> bool:
        """Whether the captured decode graph lets the two streams race: overlap on and index keys in bf16."""
        return self.overlap and self.bf16_index_k


def parse_bool(name: str, text: str) -> bool:
    """SGLang's reading of a boolean variable.

    Raises ValueError for anything but true, 1, yes, y, false, 0, no, n in any case.
    """
    word = text.lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ValueError(f'{name}: "{text}" is not a valid boolean value')


def read_switches(environ: Mapping[str, str]) -> Switches:
    """The switches in an environment; ValueError names the first variable that cannot be read."""

    def boolean(name: str, default: bool) -> bool:
        return parse_bool(name, environ[name]) if name in environ else default

    def number(name: str) -> float | None:
        return _parse_number(name, environ[name]) if name in environ else None

    seed = number("RUNBOOK_LAB_SEED")
    return Switches(
        overlap=boolean("SGLANG_OPT_USE_MULTI_STREAM_OVERLAP", True),
        bf16_index_k=boolean("SGLANG_DSV4_BF16_INDEX_K", False),
        topk_v2=boolean("SGLANG_OPT_USE_TOPK_V2", True),
        slow=number("RUNBOOK_LAB_SLOW") or 1.0,
        seed=None if seed is None else int(seed),
        start_delay_s=number("RUNBOOK_LAB_START_DELAY_S") or 0.0,
        crash_after_s=number("RUNBOOK_LAB_CRASH_AFTER_S"),
        never_healthy=boolean("RUNBOOK_LAB_NEVER_HEALTHY", False),
        retitle=boolean("RUNBOOK_LAB_RETITLE", False),
        shown={name: environ[name] for name in sorted(environ) if name.startswith(_SHOWN)},
    )


def _parse_number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f'{name}: "{text}" is not a number') from None
    if not 0 <= number < 1e9:
        raise ValueError(f'{name}: "{text}" is out of range')
    return number
