"""Figures as people read them."""

from __future__ import annotations

from typing import Any

from runbook.report.reading import number


def seconds(value: Any) -> str:
    """`20 ms`, `2.3 s`, `12 s`, `3 min 20 s`, `1 h 4 min`; `-` for what is no number."""
    found = number(value)
    if found is None:
        return "-"
    if found < 1:
        return f"{1000 * found:.0f} ms"
    if found < 10:
        return f"{found:.1f} s"
    whole = round(found)
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def plain(value: Any, digits: int = 1) -> str:
    found = number(value)
    return "-" if found is None else f"{found:.{digits}f}"


def percent(value: Any, digits: int = 2) -> str:
    found = number(value)
    return "-" if found is None else f"{found:.{digits}%}"
