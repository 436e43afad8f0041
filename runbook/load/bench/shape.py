"""Whether a document has the shape of a bench result: it may come from a file or a host, and everything in it is read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_RATES = ("output_tok_s", "total_tok_s", "requests_s", "steady_tok_s", "goodput")
_FIGURES = ("ttft_ms", "itl_ms", "itl_request_ms", "tpot_ms", "e2e_ms", "tokens", "client")
_DEEPEST = 8
_MOST = 10_000


def require_level(level: Any) -> None:
    """Raises ValueError naming the key that is wrong."""
    _expect(isinstance(level, dict), "levels", "tables", level)
    _each(level, ("concurrency", "requests"), _is_count, "a whole number", needed=True)
    _each(level, ("output_tok_s",), _is_rates, "a list of numbers", needed=True)
    _each(level, _RATES, _is_rates, "a list of numbers")
    _each(level, _FIGURES, _is_figures, "a table of numbers")
    _each(level, ("failures",), lambda value: _is_table(value, _is_count), "a table of whole numbers")
    _each(level, ("mean_concurrency", "peak_concurrency"), _is_number, "a number")
    _each(level, ("problems",), _is_texts, "a list of texts")
    _each(level, ("steady",), lambda value: _is_rates(value) and len(value) == 2, "two numbers")


def require_fingerprint(fingerprint: Any) -> None:
    """Raises ValueError naming the key that is wrong."""
    _expect(isinstance(fingerprint, dict), "fingerprint", "a table", fingerprint)
    levels = fingerprint.get("concurrency", [])
    good = isinstance(levels, list) and all(map(_is_count, levels))
    _expect(good, "fingerprint.concurrency", "a list of whole numbers", levels)
    _expect(_depth(fingerprint) <= _DEEPEST, "fingerprint", f"at most {_DEEPEST} tables deep", "more")


def require_slo(slo: Any) -> None:
    """Raises ValueError naming what is wrong."""
    _expect(_is_table(slo, _is_number), "slo", "a table of numbers", slo)


def _each(
    level: Mapping[str, Any],
    keys: tuple[str, ...],
    holds: Callable[[Any], bool],
    should: str,
    *,
    needed: bool = False,
) -> None:
    for key in keys:
        _expect(not needed or key in level, key, should, "nothing")
        _expect(key not in level or holds(level[key]), key, should, level.get(key))


def _expect(holds: bool, key: str, should: str, found: Any) -> None:
    if not holds:
        raise ValueError(f"{key}: should be {should}, found {str(found)[:80]!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value == int(value) >= 0


def _is_rates(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) <= _MOST
        and all(_is_number(one) and one >= 0 for one in value)
    )


def _is_figures(value: Any) -> bool:
    return _is_table(value, lambda one: one is None or _is_number(one))


def _is_table(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(holds(one) for one in value.values())


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def _depth(tree: Any, at: int = 0) -> int:
    """How deep tables and lists are nested; it looks no deeper than it must."""
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list | tuple) else ()
    if at > _DEEPEST:
        return at
    return max((_depth(one, at + 1) for one in inner), default=at)
