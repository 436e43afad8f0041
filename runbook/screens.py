"""What `status`, `releases` and `logs` put on a screen, from their JSON values."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from runbook import leftovers
from runbook.stages import amiss, inflight
from runbook.text import columns, counted, folded, one_line, sentence, span
from runbook.unsaid import TEXTS
from runbook.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def status(shown: Mapping[str, Any], width: int | None = None) -> list[str]:
    """One host on one screen: first what is down or under way, then units, flags that drift, release, last rollout, and
    flags that expire."""
    parts = (_down, _under_way, _units, _flags, _current, _last, _expiring)
    return [line for part in parts for line in part(shown)]


def _down(shown: Mapping[str, Any]) -> list[str]:
    return [sentence(f"!! {unit['role']}: {unit['says']}", 800) for unit in shown["units"] if not unit["up"]]


def _units(shown: Mapping[str, Any]) -> list[str]:
    head = ("unit", "state", "since", "pid", "restarts", "environment")
    rows = [
        (unit["role"], unit["state"], ago(unit["since"], shown["now"]), str(unit["pid"] or "-"),
         str(unit["restarts"]), _evidence(unit))
        for unit in shown["units"]
    ]  # fmt: skip
    return aligned([head, *rows])


def _evidence(unit: Mapping[str, Any]) -> str:
    """How it is known what a unit runs with, or why nobody can tell; of one that is down its state says that."""
    why = unit["evidence_says"] if unit["evidence"] == "unknown" and unit["up"] else ""
    return f"unknown: {why}" if why else str(unit["evidence"])


def _flags(shown: Mapping[str, Any]) -> list[str]:
    """How many flags are as they should be, files that are gone or edited, the flags that are not as they should be, and
    what runs with something that no file says.

    A flag of which nothing is known, since its unit is down or its script gone, is only counted.
    """
    wrong = [flag for flag in shown["flags"] if flag["outcome"] != Outcome.PASS.value]
    quiet = amiss.untold(shown)
    said = f"flags {len(shown['flags']) - len(wrong)} of {len(shown['flags'])} as the host file says"
    unknown = f", {len(quiet)} not known" if quiet else ""
    edited = [f"!! {path} {_edited(shown['kept_by'].get(path))}" for path in shown["edited"]]
    lines = [_flag_line(flag) for flag in wrong if flag not in quiet]
    unapplied = [sentence(f"!! {row['says']}") for row in shown["unapplied"]]
    return [said + unknown, *_not_there(shown), *edited, *lines, *unapplied, *_left_behind(shown)]


def _not_there(shown: Mapping[str, Any]) -> list[str]:
    """Files that are not there, and first what the login may not read: whether that is there is not known."""
    closed = [shown["unreadable"]] if shown["unreadable"] else []
    said = [*closed, *(f"{path} is gone" for path in shown["gone"]), *shown["missing"]]
    return [sentence(f"!! {line}", 800) for line in said]


def _left_behind(shown: Mapping[str, Any]) -> list[str]:
    left = shown["left_behind"]
    return [one_line(f"!! {leftovers.told(left)}", 800)] if left else []


def _edited(kept_by: str | None) -> str:
    if kept_by:
        return f"is as release {kept_by} has it, not the current one"
    return "was edited by another hand since the release"


def _flag_line(flag: Mapping[str, Any]) -> str:
    values = ", ".join(f"{where} {_value(flag[where])}" for where in ("wanted", "file"))
    running = "unknown" if flag["evidence"] == "unknown" else _value(flag["running"])
    return one_line(f"!! {flag['flag']} on {flag['unit']}: {values}, running {running}")


def _value(value: str | None) -> str:
    if value in TEXTS:
        return value
    return "absent" if value is None else repr(value)


def _current(shown: Mapping[str, Any]) -> list[str]:
    here = shown["current"]
    return [f"release {here['id']} ({here['verdict']}, {here['age']} old)" if here else "no release yet"]


def _last(shown: Mapping[str, Any]) -> list[str]:
    last = shown["last"]
    if last is None:
        return ["no rollout yet"]
    when = ago(last["ended"], shown["now"])
    who = f" by {last['who']}" if last["who"] else ""
    why = f": {last['reason']}" if last["reason"] else ""
    return [sentence(f"last rollout {last['id']}: {_ended(last)}{_went_back(last)} {when} ago{who}{why}")]


def _ended(last: Mapping[str, Any]) -> str:
    return f"{last['action']} {last['ended_as'].upper()}"


def _went_back(last: Mapping[str, Any]) -> str:
    """`, back to 20261130T074049-e436,`: where it went back to, or where it was going when it ended."""
    if last["going_back_to"]:
        return f", not yet back to {last['going_back_to']},"
    return f", back to {last['rolled_back_to']}," if last["rolled_back_to"] else ""


def _back(last: Mapping[str, Any]) -> str:
    """The same without a name, for a line among many."""
    return " (back)" if last["rolled_back_to"] else ""


def _expiring(shown: Mapping[str, Any]) -> list[str]:
    return [one_line(f"!! {_expires(flag)}") for flag in shown["expiring"]]


def _expires(flag: Mapping[str, Any]) -> str:
    days, owner = flag["days"], flag["owner"] or "nobody"
    when = f"expired {-days} d ago" if days < 0 else f"expires in {days} d" if days else "expires today"
    since = f", wanted since {flag['since']}" if flag["since"] else ""
    return f"{flag['flag']} {when} ({flag['expires']}){since}, owned by {owner}"


def _under_way(shown: Mapping[str, Any]) -> list[str]:
    lines = []
    if (lock := shown["lock"]) is not None:
        who = lock.get("who") or "somebody"
        lines.append(one_line(f"LOCKED by {who} since {lock.get('since')}: {lock.get('step')}"))
    if amiss.interrupted(shown):
        lines.append(sentence(f"!! INTERRUPTED: {inflight.told(shown['inflight'])}", 800))
    return lines


def one_host(document: Mapping[str, Any], width: int | None = None) -> list[str]:
    """A host's status on one line, folded where that is too wide; a host that could not be asked says why."""
    shown = document.get("status")
    said = document["error"] if shown is None else ", ".join(_summed(shown))
    line = sentence(f"{document['host']}: {said}")
    return [line] if width is None else folded(line, width)


def _summed(shown: Mapping[str, Any]) -> list[str]:
    down = [f"{unit['role']} {unit['state']}" for unit in shown["units"] if not unit["up"]]
    up = len(shown["units"]) - len(down)
    drift = sum(flag["outcome"] == Outcome.FAIL.value for flag in shown["flags"])
    here, last = shown["current"], shown["last"]
    parts = [
        f"{up} of {len(shown['units'])} units up" + (f" ({', '.join(down)})" if down else ""),
        "INTERRUPTED" if amiss.interrupted(shown) else "",
        "LOCKED" if shown["lock"] else "",
        f"{counted(len(shown['gone']), 'file')} gone" if shown["gone"] else "",
        f"{counted(len(shown['missing']), 'script')} not there" if shown["missing"] else "",
        shown["unreadable"] or "",
        f"{counted(len(shown['edited']), 'file')} edited by another hand" if shown["edited"] else "",
        _so_many(drift, "drift") or ("" if shown["unapplied"] else "no drift"),
        f"{counted(len(shown['unapplied']), 'unit')} to restart" if shown["unapplied"] else "",
        f"{len(shown['left_behind'])} left behind" if shown["left_behind"] else "",
        f"release {here['id']} ({here['verdict']}, {here['age']} old)" if here else "no release",
        f"last {_ended(last)}{_back(last)} {ago(last['ended'], shown['now'])} ago" if last else "no rollout",
        _so_many(len(shown["expiring"]), "expire"),
    ]  # fmt: skip
    return [part for part in parts if part]


def _so_many(number: int, verb: str) -> str:
    """`1 flag drifts`, `2 flags drift`; nothing of none."""
    return f"{counted(number, 'flag')} {verb}{'s' if number == 1 else ''}" if number else ""


def releases(rows: Sequence[Mapping[str, Any]], width: int | None = None) -> list[str]:
    """The releases as one table, newest first; where it is too wide, two lines each."""
    if not rows:
        return ["no releases on this host yet: a first deploy saves what is there"]
    table = aligned([RELEASE_HEAD, *(_release_cells(row) for row in rows)])
    if width is None or max(map(columns, table)) <= width:
        return table
    return [line for row in rows for line in _release_stacked(row, width)]


RELEASE_HEAD = ("", "release", "verdict", "age", "corrupt", "concurrency:tok/s", "parent")


def _release_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    mark = "*" if row["current"] else " "
    verdict = f"{row['verdict']}, unfinished" if row["unfinished"] else row["verdict"]
    return (mark, row["id"], verdict, row["age"], _corrupt(row), _rates(row), row["parent"] or "-")


def _release_stacked(row: Mapping[str, Any], width: int) -> list[str]:
    mark, name, verdict, age, corrupt, rates, _ = _release_cells(row)
    told = ((corrupt, corrupt), (rates, f"tok/s by concurrency {rates}"))
    more = [line for cell, text in told if cell != "-" for line in folded(f"    {text}", width)]
    return [f"{mark} {name}  {verdict}  {age}", *more]


def _corrupt(row: Mapping[str, Any]) -> str:
    """`final80 0/80 <3.68%`: the share each validation saw and the 95 % bound of the true rate where it saw none."""
    bounds = row["upper_95"]
    told = (
        f"{name} {share}" + (f" <{bounds[name]:.2%}" if bounds.get(name) and share.startswith("0/") else "")
        for name, share in row["corrupt"].items()
    )
    return one_line(" ".join(told)) or "-"


def _rates(row: Mapping[str, Any]) -> str:
    return one_line(" ".join(f"{level}:{rate:.0f}" for level, rate in row["tok_s"].items())) or "-"


def logs(shown: Sequence[Mapping[str, Any]], width: int | None = None) -> list[str]:
    """Each unit's lines under its name; one unit alone needs none."""
    if len(shown) == 1:
        return _journal(shown[0])
    return [line for unit in shown for line in (f"== {unit['unit']}", *_journal(unit))]


def _journal(unit: Mapping[str, Any]) -> list[str]:
    return [str(line) for line in unit["lines"]] or [f"{unit['unit']}: no lines"]


def ago(moment: float | str | None, now: float) -> str:
    """How long before `now` (epoch seconds) a moment was, epoch seconds or ISO 8601; `-` where nobody knows."""
    if moment is None:
        return "-"
    try:
        at = (
            moment if isinstance(moment, int | float) else datetime.datetime.fromisoformat(moment).timestamp()
        )
    except ValueError:
        return "-"
    return span(max(0.0, now - at))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as their widest cell."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(columns(row[at]) for row in cells) for at in range(len(cells[0]))]
    return [
        "  ".join(
            cell + " " * (wide - columns(cell)) for cell, wide in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]
