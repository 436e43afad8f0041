"""audit.list: one line a rollout, oldest first."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

from runbook import app, audit, inventory, screens
from runbook.auditing.checks import damaged
from runbook.auditing.fetching import fetch_asked
from runbook.errors import UnknownHostError
from runbook.text import columns, folded, one_line
from runbook.verdict import ended_as

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.audit import Record
    from runbook.auditing.asked import Asked
    from runbook.view import View

SCHEMA = 1
_COLUMNS = ("started", "host", "action", "outcome", "id", "operator", "release", "reason")


def run(asked: Asked) -> int:
    """List the records asked for; exit 0, also where there are none."""
    fetch_asked(asked)
    records = asked.records()
    if not records:
        _require_known(asked)
    if asked.request.json:
        rows = [row(record) for record in records]
        print(json.dumps({"schema": SCHEMA, "action": "audit.list", "records": rows}))  # noqa: T201
    view = app.view_of(asked.request)
    for line in table([row(record) for record in records], _width(view)):
        view.say(line)
    for line in damaged(asked, records):
        view.say(line)
    if not records:
        view.say("no audit record here matches; audit.verify --host NAME copies a host's")
    return 0


def _width(view: View) -> int | None:
    """The columns there are on a terminal; None elsewhere, where lines may be as long as they get."""
    return shutil.get_terminal_size().columns if view.terminal else None


def _require_known(asked: Asked) -> None:
    """A name that is mistyped must not look like a host where nothing ever happened. Raises UnknownHostError."""
    known = inventory.known(asked.request.hosts_dir)
    for name in asked.request.hosts:
        if name not in known and not audit.path_of(asked.request.directory, name).exists():
            raise UnknownHostError(name, known)


def row(record: Record) -> dict[str, Any]:
    """What a list tells of a record; JSON values only."""
    document = record.document
    return {
        "id": record.id,
        "host": record.host,
        "seq": None if record.is_owed else record.seq,
        "hash": None if record.is_owed else record.hash,
        "started": document.get("started"),
        "ended": document.get("ended"),
        "action": record.action,
        "outcome": record.outcome,
        "ended_as": ended_as(document),
        "exit_code": document.get("exit_code"),
        "operator": who(record),
        "reason": record.text("reason"),
        "release": document.get("release"),
        "rolled_back_to": document.get("rolled_back_to"),
        "signed": "signature" in document,
    }


def who(record: Record) -> str:
    """The operator in a word: `ann@laptop`, or what an interrupted rollout left of it."""
    operator = record.table("operator")
    name = f"{operator['user']}@{operator.get('host')}" if operator.get("user") else operator.get("who")
    return str(name or "?")


def table(rows: Sequence[dict[str, Any]], width: int | None = None) -> list[str]:
    """The rows in columns under their names; stacked where that is wider than a terminal of `width` columns."""
    if not rows:
        return []
    cells = [tuple(_cell(row, column) for column in _COLUMNS) for row in rows]
    lines = screens.aligned([_COLUMNS, *cells])
    if width is None or max(map(columns, lines)) <= width:
        return lines
    return [line for cell in cells for line in _stacked(cell, width)]


def _stacked(cells: Sequence[str], width: int) -> list[str]:
    """One row on lines of its own, so that no id is torn in two."""
    named = dict(zip(_COLUMNS, cells, strict=True))
    first = "  ".join(named[name] for name in ("started", "host", "action", "outcome"))
    rest = [f"{name} {named[name]}" for name in ("release", "reason") if named[name] != "-"]
    below = "; ".join([f"{named['id']} by {named['operator']}", *rest])
    return [*folded(first, width), *folded(f"    {below}", width)]


def _cell(row: dict[str, Any], column: str) -> str:
    match column:
        case "started":
            return str(row["started"] or "?")[:19].replace("T", " ")
        case "release":
            value = row["release"] or row["rolled_back_to"]
        case "outcome":
            owed = ", not on the host" if row["seq"] is None else ""
            value = f"{row['ended_as']}{', back' if row['rolled_back_to'] else ''}{owed}"
        case _:
            value = row[column]
    return one_line(str(value), 60) if value else "-"
