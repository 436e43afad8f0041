"""What a record says was asked of the helper, and what that ran on the host: in one line, or in a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.text import counted, short_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.audit.record import Record


def summary(record: Record) -> Iterator[str]:
    """How many programs ran and how they ended; nothing of a record that is older than this field."""
    rows = record.rows("programs")
    if rows:
        other = sum(row.get("exit") != 0 for row in rows)
        ended = f", {other} not with exit 0" if other else ""
        yield f"ran {counted(len(rows), 'program')} on the host{ended} (-v lists them, and the calls that ran them)"


def lines(record: Record) -> Iterator[str]:
    """Every call of the helper, and every program it ran: when first, what, how it ended, how often, how long."""
    calls, programs = record.rows("calls"), record.rows("programs")
    if calls:
        yield "calls of the helper:"
        yield from (f"  {_at(row)}  {_call(row)}  {_spent(row)}" for row in calls)
        yield from _left_out(record, "calls_left_out", "call")
    if programs:
        yield "programs that ran on the host:"
        yield from (
            f"  {_at(row)}  {short_words(str(row.get('command')))}  {_spent(row)}" for row in programs
        )
        yield from _left_out(record, "programs_left_out", "run")


def _call(row: Mapping[str, Any]) -> str:
    return " ".join(str(row[key]) for key in ("call", "about") if row.get(key))


def _at(row: Mapping[str, Any]) -> str:
    return f"{row.get('at_s')!s:>8} s"


def _spent(row: Mapping[str, Any]) -> str:
    times = f"{row.get('times')} times" if row.get("times") != 1 else ""
    longest = f"longest {row.get('longest_s')} s" if times and "longest_s" in row else ""
    code = f"exit {row['exit']}" if row.get("exit") is not None else ""
    told = (code, times, f"{row.get('duration_s')} s", longest, row.get("error"))
    return ", ".join(str(part) for part in told if part)


def _left_out(record: Record, key: str, noun: str) -> Iterator[str]:
    more = record.document.get(key)
    if isinstance(more, int) and more > 0:
        yield f"  and {counted(more, noun)} more"
