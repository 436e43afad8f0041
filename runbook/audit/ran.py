"""What a record says was asked of the helper, and what that ran on the host: in one line, or in a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.onhost.ran import ABSENT
from runbook.text import counted, short_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runbook.audit.record import Record

_MOST_NAMES = 4
_NOT_FOUND = 127  # of a shell


def summary(record: Record) -> Iterator[str]:
    """How many programs ran, which of them the host does not have, and which failed; nothing of an older record."""
    rows = record.rows("programs")
    if rows:
        bad = [row for row in rows if row.get("exit") != 0]
        absent = [row for row in bad if _is_absent(row)]
        failed = [row for row in bad if row not in absent]
        told = "".join(_named(of, said) for of, said in ((absent, "not there"), (failed, "failed")))
        yield f"ran {counted(len(rows), 'program')} on the host{told} (-v lists them, and the calls that ran them)"


def _is_absent(row: Mapping[str, Any]) -> bool:
    """The host has no such program, or the shell that should have run it found none."""
    return row.get("error") == ABSENT or row.get("exit") == _NOT_FOUND


def _named(rows: Sequence[Mapping[str, Any]], said: str) -> str:
    """`; not there: nvidia-smi`; nothing of none."""
    names = list(dict.fromkeys(_name(row) for row in rows))
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"; {said}: {', '.join(names[:_MOST_NAMES])}{more}" if names else ""


def _name(row: Mapping[str, Any]) -> str:
    name = str(row.get("command")).partition(" ")[0]
    return f"what {name} was to run" if row.get("exit") == _NOT_FOUND else name


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
