"""A bench for people: its table, or where that is too wide two lines a concurrency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.text import columns, folded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.validations.bench import Judged


def of_judged(judged: Judged, width: int | None) -> list[str]:
    """The table where its columns fit into `width`, else two or three lines a concurrency; what is told below it is folded."""
    if width is None:
        return list(judged.table)
    table, below = judged.table[: judged.aligned], judged.table[judged.aligned :]
    if max(map(columns, table), default=0) > width:
        rows = (judged.comparison or {}).get("rows") or ()
        table = judged.stacked or tuple(line for row in rows for line in _stacked(row))
    return [*table, *(part for line in below for part in folded(line, width))]


def _stacked(row: Mapping[str, Any]) -> list[str]:
    where = f"concurrency {row['concurrency']}" if row["concurrency"] else "no limit"
    return [f"{where}: {rates(row)}", f"  {verdict(row)}"]


def rates(row: Mapping[str, Any]) -> str:
    """`277.6 tok/s, was 276.6`; `-` for a rate nobody has."""
    now, before = (_figure(row[key]) for key in ("current_tok_s", "baseline_tok_s"))
    return f"{now} tok/s, was {before}"


def verdict(row: Mapping[str, Any]) -> str:
    """`1.004 [0.963, 1.046] no regression beyond 3.7 %`."""
    return " ".join(part for part in (ratio(row), _verdict(row)) if part)


def ratio(row: Mapping[str, Any]) -> str:
    """`1.004 [0.963, 1.046]`: the ratio with its 95 % bounds, empty where there is none."""
    if row["ratio"] is None:
        return ""
    bounds = "" if row["low"] is None else f" [{row['low']:.3f}, {row['high']:.3f}]"
    return f"{row['ratio']:.3f}{bounds}"


def _verdict(row: Mapping[str, Any]) -> str:
    if row["verdict"] != "no regression" or row["low"] is None:
        return str(row["verdict"])
    return f"no regression beyond {max(0.0, 1 - row['low']):.1%}"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
